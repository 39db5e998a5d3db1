#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WFDB windows beside the wfdb package, npy and safetensors beside cat.

    python bench/data/run_signals.py build/release/bench/signal_bench

Needs wfdb 4.3.1, numpy and safetensors. All in one run, in turns, from the
system's cache; medians.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import wfdb

ROUNDS = 5


def ours(program, *words):
    done = subprocess.run([program, *words, str(ROUNDS)], check=True,
                          capture_output=True, text=True)
    return ([float(line) for line in done.stdout.split()],
            done.stderr.strip())


def windows(program, folder, rng):
    print("| format | leads | window | ours, us | wfdb, us | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for fmt, leads in (("16", 12), ("212", 2), ("24", 3), ("32", 3),
                       ("80", 2)):
        frames = 500 * 600
        top = {"16": 30000, "212": 2000, "24": 8000000, "32": 2**30,
               "80": 120}[fmt]
        wfdb.wrsamp(
            f"b{fmt}", fs=500, units=["mV"] * leads,
            sig_name=[f"s{i}" for i in range(leads)], fmt=[fmt] * leads,
            d_signal=rng.integers(-top, top, (frames, leads)),
            adc_gain=[200.0] * leads, baseline=[0] * leads,
            write_dir=str(folder))
        path = str(folder / f"b{fmt}")
        for size in (5000, 1000):
            starts = rng.integers(0, frames - size, 50)
            spans = [f"{a},{a + size}" for a in starts]
            mine, check = ours(program, "windows", path, *spans)
            theirs = []
            for _ in range(ROUNDS):
                begin = time.perf_counter()
                total = 0.0
                for a in starts:
                    record = wfdb.rdrecord(
                        path, sampfrom=int(a), sampto=int(a) + size)
                    total += record.p_signal[0].sum()
                theirs.append(time.perf_counter() - begin)
            if abs(float(check) - total) > 1e-3 * (1 + abs(total)):
                raise SystemExit(f"{fmt}: {check} and {total} differ")
            a, b = (statistics.median(v) / 50 * 1e6 for v in (mine, theirs))
            print(f"| {fmt} | {leads} | {size} | {a:.0f} | {b:.0f} | "
                  f"{b / a:.1f} |")


def timed(work):
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def tensors(program, folder):
    import safetensors.numpy
    print("\n| file, 256 MiB | | ours, ms | `cat`, ms | Python's package, ms "
          "| ours / cat |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    array = numpy.random.default_rng(1).standard_normal(
        64 << 20, dtype=numpy.float32)
    numpy.save(folder / "a.npy", array)
    safetensors.numpy.save_file({"a": array[:32 << 20], "b": array[32 << 20:]},
                                folder / "a.safetensors")
    readers = {
        "a.npy": lambda path: [numpy.load(path)],
        "a.safetensors": lambda path: list(
            safetensors.numpy.load_file(path).values())}

    def total(path, reader):
        return sum(int(each.view(numpy.uint64).sum())
                   for each in reader(path)) % 2**64

    for name, reader in readers.items():
        path = str(folder / name)
        times = {key: [] for key in ("cat", "open", "sum", "their open",
                                     "their sum")}
        for _ in range(ROUNDS):
            times["cat"].append(timed(lambda: subprocess.run(
                ["cat", path], stdout=subprocess.DEVNULL, check=True))[0])
            times["their open"].append(timed(lambda: reader(path))[0])
            seconds, theirs = timed(lambda: total(path, reader))
            times["their sum"].append(seconds)
            for what in ("open", "sum"):
                seconds, check = ours(program, what, path)
                times[what] += seconds
            if int(check) != theirs:
                raise SystemExit(f"{name}: {check} and {theirs} differ")
        ms = {key: statistics.median(value) * 1e3
              for key, value in times.items()}
        for what, text in (("open", "opened"),
                           ("sum", "opened and every byte summed")):
            print(f"| {name} | {text} | {ms[what]:.2f} | {ms['cat']:.1f} | "
                  f"{ms['their ' + what]:.1f} | "
                  f"{ms[what] / ms['cat']:.2f} |")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        windows(program, folder, numpy.random.default_rng(3))
        tensors(program, folder)


if __name__ == "__main__":
    main()
