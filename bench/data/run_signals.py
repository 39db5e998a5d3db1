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


def tensors(program, folder):
    import safetensors.numpy
    print("\n| file | ours, ms | cat, ms | Python's package, ms | ours / cat |")
    print("| --- | ---: | ---: | ---: | ---: |")
    array = numpy.random.default_rng(1).standard_normal(
        64 << 20, dtype=numpy.float32)
    numpy.save(folder / "a.npy", array)
    safetensors.numpy.save_file({"a": array[:32 << 20], "b": array[32 << 20:]},
                                folder / "a.safetensors")
    readers = {"a.npy": numpy.load, "a.safetensors":
               safetensors.numpy.load_file}
    for name, reader in readers.items():
        path = str(folder / name)
        cat, package = [], []
        mine = []
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            subprocess.run(
                ["cat", path], stdout=subprocess.DEVNULL,
                check=True)
            cat.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            reader(path)
            package.append(time.perf_counter() - begin)
            mine += ours(program, "tensors", path)[0]
        a, b, c = (statistics.median(v) * 1e3 for v in (mine, cat, package))
        print(f"| {name}, 256 MiB | {a:.0f} | {b:.0f} | {c:.0f} | "
              f"{a / b:.2f} |")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        windows(program, folder, numpy.random.default_rng(3))
        tensors(program, folder)


if __name__ == "__main__":
    main()
