#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the EDF corpus of signals/, what pyedflib reads of it, and an npz.

Needs pyedflib 0.1.42 and numpy. Run it again only to add cases:

    python tests/golden/record_edf.py
"""

import json
import pathlib

import numpy
import pyedflib

FOLDER = pathlib.Path(__file__).parent / "signals"
KINDS = {"plain.edf": pyedflib.FILETYPE_EDF,
         "plus.edf": pyedflib.FILETYPE_EDFPLUS,
         "plain.bdf": pyedflib.FILETYPE_BDF,
         "plus.bdf": pyedflib.FILETYPE_BDFPLUS}


def write(name, kind, rng):
    bits = 23 if name.endswith("bdf") else 15
    low, high = -2**bits, 2**bits - 1
    headers = [
        {"label": "I", "dimension": "mV", "sample_frequency": 20,
         "physical_min": -5.12, "physical_max": 5.11, "digital_min": low,
         "digital_max": high, "prefilter": "HP:0.1Hz", "transducer": "AgCl"},
        {"label": "Resp", "dimension": "l", "sample_frequency": 5,
         "physical_min": 10.5, "physical_max": -3.25, "digital_min": -2000,
         "digital_max": 1999, "prefilter": "", "transducer": ""}]
    writer = pyedflib.EdfWriter(str(FOLDER / name), 2, file_type=kind)
    writer.setSignalHeaders(headers)
    writer.setPatientName("X") if "plus" in name else None
    samples = [rng.integers(low, high + 1, 80).astype(numpy.int32),
               rng.integers(-2000, 2000, 20).astype(numpy.int32)]
    samples[0][:2] = [low, high]
    writer.writeSamples(samples, digital=True)
    if "plus" in name:
        writer.writeAnnotation(0.5, -1, "start")
        writer.writeAnnotation(1.25, 0.75, "(AFIB")
        writer.writeAnnotation(3.0, 0.1, "last one")
    writer.close()


def main():
    rng = numpy.random.default_rng(7)
    recorded = {}
    for name, kind in KINDS.items():
        write(name, kind, rng)
        with pyedflib.EdfReader(str(FOLDER / name)) as reader:
            onsets, durations, texts = reader.readAnnotations()
            recorded[name] = {
                "signals": [{
                    "label": reader.getLabel(i),
                    "units": reader.getPhysicalDimension(i),
                    "fs": reader.getSampleFrequency(i),
                    "digital": reader.readSignal(i, digital=True).tolist(),
                    "physical": reader.readSignal(i).tolist(),
                } for i in range(reader.signals_in_file)],
                "annotations": [
                    [float(a), float(b), str(c)]
                    for a, b, c in zip(onsets, durations, texts)],
            }
    numpy.savez_compressed(
        FOLDER / "numpy.npz",
        input=(numpy.arange(12) / 2).astype("f4").reshape(3, 4),
        target=numpy.array([2, 0, 1]))
    with open(FOLDER / "edf.json", "w", encoding="utf-8") as out:
        json.dump(recorded, out, separators=(",", ":"))
        out.write("\n")


if __name__ == "__main__":
    main()
