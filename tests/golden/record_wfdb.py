#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the WFDB corpus of signals/ and what the wfdb package reads of it.

Needs wfdb 4.3.1 and numpy 2.2.6. Run it again only to add cases:

    python tests/golden/record_wfdb.py

Formats 16, 24, 32, 80 and 212 are written by wfdb. It cannot write 61, 160, 310
and 311; encode() does, as signal(5) of the WFDB Applications Guide defines
them, and wfdb reads them. Digital values are recorded as they are, physical
values as float32 bits.
"""

import json
import pathlib

import numpy
import wfdb

FOLDER = pathlib.Path(__file__).parent / "signals"
RANGES = {"16": 15, "24": 23, "32": 31, "61": 15, "80": 7, "160": 15,
          "212": 11, "310": 9, "311": 9}


def wave(rng, frames, signals, bits):
    """Gives digital samples that reach both ends of their range."""
    top = 2**(bits - 1) - 1
    values = rng.integers(-top, top + 1, (frames, signals))
    values[0] = top
    values[1] = -top
    values[5, 0] = -top - 1  # stands for "no sample"
    return values.astype(numpy.int64)


def encode(fmt, flat):
    """Packs samples in file order."""
    flat = [int(v) for v in flat]
    if fmt == "61":
        return numpy.array(flat, dtype=">i2").tobytes()
    if fmt == "160":
        return numpy.array([v + 32768 for v in flat], dtype="<u2").tobytes()
    out = bytearray()
    for at in range(0, len(flat), 3):
        three = flat[at:at + 3]
        count = len(three)
        a, b, c = [v & 0x3FF for v in three + [0] * (3 - count)]
        if fmt == "310":
            # Two words; the third sample's low five bits lie in the first.
            first = a << 1 | (c & 0x1F) << 11
            second = b << 1 | (c >> 5) << 11
            word = first.to_bytes(2, "little") + second.to_bytes(2, "little")
            out += word[:{1: 2, 2: 4, 3: 4}[count]]
        else:
            word = (a | b << 10 | c << 20).to_bytes(4, "little")
            out += word[:{1: 2, 2: 3, 3: 4}[count]]
    return bytes(out)


def write_encoded(name, fmt, values, fs, offset=0):
    frames, signals = values.shape
    data = b"\x00" * offset + encode(fmt, values.flatten())
    (FOLDER / f"{name}.dat").write_bytes(data)
    lines = [f"{name} {signals} {fs} {frames}"]
    for i in range(signals):
        place = f"+{offset}" if offset else ""
        lines.append(
            f"{name}.dat {fmt}{place} 100(3)/uV 10 0 {values[0, i]} "
            f"{int(values[:, i].sum()) % 65536} 0 lead {i}")
    (FOLDER / f"{name}.hea").write_text("\n".join(lines) + "\n")


def bits(array):
    """float32 bits as integers, NaN as -1."""
    array = numpy.asarray(array, dtype=numpy.float32)
    raw = array.view(numpy.int32).astype(numpy.int64)
    raw[numpy.isnan(array)] = -1
    return raw.tolist()


def physical_signals(path, record, start, stop):
    """Rows in physical units.

    wfdb rounds the mean of a frame's digital samples to a whole number before
    it converts; the mean of what it converts is exact.
    """
    per_frame = record.samps_per_frame if hasattr(
        record, "samps_per_frame") and record.samps_per_frame else []
    if not any((each or 1) > 1 for each in per_frame):
        return record.p_signal.T
    each = wfdb.rdrecord(path, sampfrom=start, sampto=stop,
                         smooth_frames=False)
    return [signal.reshape(-1, count or 1).mean(1) for signal, count in zip(
        each.e_p_signal, each.samps_per_frame)]


def describe(name, windows):
    """What wfdb reads of a record: all, and windows of it."""
    path = str(FOLDER / name)
    header = wfdb.rdheader(path)
    entry = {
        "fs": header.fs,
        "num_frames": int(wfdb.rdrecord(path).sig_len),
        "comments": header.comments,
        "windows": [],
    }
    for start, stop in windows:
        physical = wfdb.rdrecord(path, sampfrom=start, sampto=stop)
        window = {"from": start, "to": stop or len(physical.p_signal),
                  "names": physical.sig_name,
                  "physical": [bits(row) for row in physical_signals(
                      path, physical, start, stop)]}
        try:
            digital = wfdb.rdrecord(path, sampfrom=start, sampto=stop,
                                    physical=False, smooth_frames=False)
            if hasattr(digital, "e_d_signal"):
                window["digital"] = [s.tolist() for s in digital.e_d_signal]
        except Exception:
            pass
        entry["windows"].append(window)
    return entry


def plain_records(rng, expected):
    for fmt, width in RANGES.items():
        for signals in (1, 3):
            frames = 64 if signals == 1 else 41
            values = wave(rng, frames, signals, width + 1)
            name = f"f{fmt}x{signals}"
            if fmt in ("16", "24", "32", "80", "212"):
                wfdb.wrsamp(
                    name, fs=250, units=["mV"] * signals,
                    sig_name=[f"lead {i}" for i in range(signals)],
                    d_signal=values, fmt=[fmt] * signals,
                    adc_gain=[200.5 + i for i in range(signals)],
                    baseline=[10 * i - 5 for i in range(signals)],
                    comments=["Age: 61", "Dx: 426783006,164889003"],
                    write_dir=str(FOLDER))
            else:
                write_encoded(name, fmt, values, 250,
                              offset=7 if signals == 3 else 0)
            expected[name] = describe(
                name, [(0, frames), (0, 1), (1, 2), (7, 20), (8, 21), (9, 22),
                       (frames - 5, frames)])


def frames_and_skew(rng, expected):
    """Several files, several samples per frame, skew, defaults."""
    frames = 30
    fast = rng.integers(-2000, 2000, (frames, 4))
    slow = rng.integers(-2000, 2000, (frames, 1))
    other = rng.integers(-30000, 30000, (frames, 1))
    flat = numpy.concatenate([fast, slow], axis=1).flatten()
    padded = numpy.append(flat, [0]) if len(flat) % 2 else flat
    out = bytearray()
    for at in range(0, len(padded), 2):
        a, b = int(padded[at]) & 0xFFF, int(padded[at + 1]) & 0xFFF
        out += bytes([a & 0xFF, a >> 8 | (b >> 8) << 4, b & 0xFF])
    (FOLDER / "frames_a.dat").write_bytes(bytes(out))
    (FOLDER / "frames_b.dat").write_bytes(
        other.astype("<i2").tobytes())
    (FOLDER / "frames.hea").write_text(
        "# a comment above\n"
        f"frames 3 125.5/1000(3.5) {frames} 10:11:12 01/02/2003\n"
        "frames_a.dat 212x4:2 1000/mmHg 12 100 0 0 0 pressure of artery\n"
        "frames_a.dat 212\n"
        "frames_b.dat 16:3 0 16 0\n"
        "# Patient: 17\n")
    # Not the last frames: of those that a skew moves out wfdb marks as many
    # samples as the skew has frames, and the rest of a frame is 0.
    expected["frames"] = describe(
        "frames", [(0, frames - 3), (3, 11), (frames - 7, frames - 3)])
    (FOLDER / "untold.hea").write_text(
        "untold 1\nframes_b.dat 16 200 16 0\n")
    expected["untold"] = describe("untold", [(0, None)])


def segments(rng, expected):
    """Three segments with a gap, of a fixed and of a variable layout."""
    for i, frames in enumerate((20, 30)):
        wfdb.wrsamp(
            f"fixed_{i}", fs=100, units=["mV", "mV"], sig_name=["I", "II"],
            d_signal=rng.integers(-900, 900, (frames, 2)), fmt=["16", "16"],
            adc_gain=[200.0, 100.0], baseline=[0, 7], write_dir=str(FOLDER))
    (FOLDER / "fixed.hea").write_text(
        "fixed/2 2 100 50\nfixed_0 20\nfixed_1 30\n")
    expected["fixed"] = describe(
        "fixed", [(0, 50), (18, 23), (0, 5), (25, 50)])
    (FOLDER / "layout.hea").write_text(
        "layout 3 100 0\n"
        "~ 0 200/mV 16 0 0 0 0 II\n"
        "~ 0 200/mV 16 0 0 0 0 V\n"
        "~ 0 200/mV 16 0 0 0 0 I\n")
    wfdb.wrsamp(
        "part", fs=100, units=["mV"], sig_name=["V"],
        d_signal=rng.integers(-900, 900, (15, 1)), fmt=["212"],
        adc_gain=[50.0], baseline=[-3], write_dir=str(FOLDER))
    (FOLDER / "variable.hea").write_text(
        "variable/5 3 100 75\nlayout 0\nfixed_0 20\n~ 10\npart 15\n"
        "fixed_1 30\n")
    expected["variable"] = describe(
        "variable", [(0, 75), (15, 48), (21, 29), (31, 33), (74, 75)])


def annotations(expected):
    samples = numpy.array([3, 10, 1040, 1041, 5_000_000, 5_000_100])
    wfdb.wrann(
        "notes", "atr", samples, symbol=["+", "N", "V", "A", "+", "~"],
        subtype=numpy.array([0, 1, 3, 0, 0, 7]),
        chan=numpy.array([0, 0, 1, 1, 2, 0]),
        num=numpy.array([0, 0, 5, 5, 127, 0]),
        aux_note=["(AFIB", "", "odd", "", "(N", "x" * 254], fs=360,
        write_dir=str(FOLDER))
    wfdb.wrann(
        "notes", "own", numpy.array([5, 9]), symbol=["N", "z"],
        custom_labels=[(45, "z", "a label of its own")], fs=12.5,
        write_dir=str(FOLDER))
    for extension in ("atr", "own"):
        read = wfdb.rdann(str(FOLDER / "notes"), extension)
        expected[f"notes.{extension}"] = {
            "fs": read.fs,
            "annotations": [
                [int(sample), symbol, int(sub), int(chan), int(num),
                 aux.rstrip("\x00")]
                for sample, symbol, sub, chan, num, aux in zip(
                    read.sample, read.symbol, read.subtype, read.chan,
                    read.num, read.aux_note)]}


def main():
    FOLDER.mkdir(exist_ok=True)
    rng = numpy.random.default_rng(5)
    records = {}
    plain_records(rng, records)
    frames_and_skew(rng, records)
    segments(rng, records)
    notes = {}
    annotations(notes)
    with open(FOLDER / "wfdb.json", "w", encoding="utf-8") as out:
        json.dump({"records": records, "annotations": notes}, out,
                  separators=(",", ":"))
        out.write("\n")


if __name__ == "__main__":
    main()
