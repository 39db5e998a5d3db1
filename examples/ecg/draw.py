#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/examples/ecg.md, as SVG, with Python alone.

    python examples/ecg/draw.py signals examples/data/ecg signals.svg
    python examples/ecg/draw.py confusion predictions.safetensors confusion.svg

The second takes what a job with `task: predict` wrote: `output` and `target`
(docs/examples/ecg.md).
"""

import json
import pathlib
import struct
import sys

CLASSES = ["N", "SBR", "ST", "AFIB", "B"]
NAMES = {"N": "sinus", "SBR": "bradycardia", "ST": "tachycardia",
         "AFIB": "fibrillation", "B": "bigeminy"}


def svg(path, width, height, parts):
    text = "\n".join(parts)
    pathlib.Path(path).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n'
        f"{text}\n</svg>\n")


def read_lead(folder, name, seconds):
    """The first lead of a record of format 16, in mV, and its rate."""
    lines = (folder / f"{name}.hea").read_text().splitlines()
    _, count, fs = lines[0].split()[:3]
    gain = float(lines[1].split()[2].split("(")[0])
    count, frames = int(count), int(float(fs) * seconds)
    data = (folder / f"{name}.dat").read_bytes()[:2 * count * frames]
    flat = struct.unpack(f"<{len(data) // 2}h", data)
    return [v / gain for v in flat[::count]], float(fs)


def signals(folder, out):
    width, row = 760, 96
    parts = []
    for i, rhythm in enumerate(CLASSES):
        values, fs = read_lead(pathlib.Path(folder), f"p003_{rhythm}", 8)
        middle, scale = row * i + 66, 13
        points = " ".join(
            f"{8 + k / (8 * fs) * (width - 16):.1f},{middle - v * scale:.1f}"
            for k, v in enumerate(values))
        parts.append(f'<text x="8" y="{row * i + 15}" fill="#444">'
                     f"{rhythm}, {NAMES[rhythm]}</text>")
        parts.append(f'<polyline points="{points}" fill="none" '
                     'stroke="#1f5fa8" stroke-width="1"/>')
    svg(out, width, row * len(CLASSES) + 32, parts)


def read_tensors(path):
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    formats = {"F32": "f", "I64": "q", "F64": "d"}
    tensors = {}
    for name, told in header.items():
        if name == "__metadata__":
            continue
        begin, end = told["data_offsets"]
        raw = data[8 + length + begin:8 + length + end]
        code = formats[told["dtype"]]
        tensors[name] = (told["shape"], struct.unpack(
            f"<{len(raw) // struct.calcsize(code)}{code}", raw))
    return tensors


def confusion(predictions, out):
    tensors = read_tensors(predictions)
    (count, classes), scores = tensors["output"]
    targets = tensors["target"][1]
    table = [[0] * classes for _ in range(classes)]
    for i in range(count):
        row = scores[i * classes:(i + 1) * classes]
        table[targets[i]][row.index(max(row))] += 1
    f1 = []
    for k in range(classes):
        hits = table[k][k]
        told = sum(table[i][k] for i in range(classes))
        true = sum(table[k])
        f1.append(2 * hits / max(told + true, 1))
    cell, left, top = 74, 110, 40
    parts = []
    for i in range(classes):
        y = top + cell * i
        parts.append(f'<text x="{left - 8}" y="{y + cell / 2 + 4}" '
                     f'text-anchor="end">{NAMES[CLASSES[i]]}</text>')
        parts.append(f'<text x="{left + cell * (i + .5)}" y="{top - 10}" '
                     f'text-anchor="middle">{CLASSES[i]}</text>')
        for k in range(classes):
            share = table[i][k] / max(sum(table[i]), 1)
            shade = [round(255 - share * (255 - c)) for c in (31, 95, 168)]
            x = left + cell * k
            parts.append(
                f'<rect x="{x}" y="{y}" width="{cell - 2}" '
                f'height="{cell - 2}" fill="rgb({shade[0]},{shade[1]},'
                f'{shade[2]})"/>')
            parts.append(
                f'<text x="{x + cell / 2}" y="{y + cell / 2 + 4}" '
                f'text-anchor="middle" fill="'
                f'{"white" if share > .5 else "black"}">{table[i][k]}</text>')
    parts.append(f'<text x="{left}" y="{top + cell * classes + 20}">rows: the '
                 f'rhythm; columns: what was said. macro F1 '
                 f'{sum(f1) / classes:.3f}</text>')
    svg(out, left + cell * classes + 10, top + cell * classes + 34, parts)
    for name, value in zip(CLASSES, f1):
        print(f"{NAMES[name]}: F1 {value:.3f}")
    print(f"macro F1 {sum(f1) / classes:.4f} of {count} windows")


if __name__ == "__main__":
    {"signals": signals, "confusion": confusion}[sys.argv[1]](*sys.argv[2:])
