#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the EDF corpus of signals/, what pyedflib reads of it, and an npz.

Needs pyedflib 0.1.42 and numpy. Run it again only to add cases:

    python tests/golden/record_edf.py
"""

import datetime
import json
import pathlib

import numpy
import pyedflib
from pyedflib._extensions import _pyedflib

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
    writer.setStartdatetime(datetime.datetime(2020, 1, 1, 22, 0, 0))
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


def write_stages():
    """A night of 12 s: stages with a duration, and one that has none."""
    writer = pyedflib.EdfWriter(str(FOLDER / "stages.edf"), 1,
                                file_type=pyedflib.FILETYPE_EDFPLUS)
    writer.setStartdatetime(datetime.datetime(2020, 1, 1, 22, 0, 0))
    writer.setSignalHeaders([
        {"label": "EEG Fpz-Cz", "dimension": "uV", "sample_frequency": 10,
         "physical_min": -3276.8, "physical_max": 3276.7,
         "digital_min": -2**15, "digital_max": 2**15 - 1, "prefilter": "",
         "transducer": ""}])
    writer.writeSamples([numpy.arange(120, dtype=numpy.int32)], digital=True)
    for onset, duration, text in (
            (0, -1, "Lights off"), (0, 4, "Sleep stage W"),
            (4, 4, "Sleep stage 1"), (5.5, -1, "Arousal"),
            (8, -1, "Sleep stage 2"), (11, 1, "Sleep stage W")):
        writer.writeAnnotation(onset, duration, text)
    writer.close()


def write_late():
    """Data records that begin nine tenths of a second after the start told."""
    writer = pyedflib.EdfWriter(str(FOLDER / "late.edf"), 1,
                                file_type=pyedflib.FILETYPE_EDFPLUS)
    writer.setStartdatetime(datetime.datetime(2020, 1, 1, 22, 0, 0))
    _pyedflib.set_starttime_subsecond(writer.handle, 9_000_000)
    writer.setSignalHeaders([
        {"label": "EEG", "dimension": "uV", "sample_frequency": 10,
         "physical_min": -3276.8, "physical_max": 3276.7,
         "digital_min": -2**15, "digital_max": 2**15 - 1, "prefilter": "",
         "transducer": ""}])
    writer.writeSamples([numpy.arange(60, dtype=numpy.int32)], digital=True)
    for onset, text in ((0, "W"), (2, "1"), (4.5, "2")):
        writer.writeAnnotation(onset, 1, text)
    writer.close()


def write_unusual(name, kind, seconds, rng):
    """Data records of an unusual length, and annotations in three signals."""
    bits = 23 if name.endswith("bdf") else 15
    rates = (32, 8, 40)  # samples of a data record
    writer = pyedflib.EdfWriter(str(FOLDER / name), len(rates), file_type=kind)
    writer.setStartdatetime(datetime.datetime(2020, 1, 1, 22, 0, 0))
    writer.setDatarecordDuration(seconds)
    writer.set_number_of_annotation_signals(3)
    writer.setSignalHeaders([
        {"label": f"S{i}", "dimension": "uV",
         "sample_frequency": rate / seconds, "physical_min": -100.0 - i,
         "physical_max": 250.5, "digital_min": -2**bits,
         "digital_max": 2**bits - 1, "prefilter": "", "transducer": ""} for i, rate in enumerate(rates)])
    records = 3
    writer.writeSamples(
        [rng.integers(-2**bits, 2**bits, rate * records).astype(numpy.int32)
         for rate in rates], digital=True)
    for i in range(7):
        writer.writeAnnotation(i * seconds / 4, -1, f"event {i}")
    writer.close()


def main():
    write_stages()
    write_late()
    write_unusual("short.edf", pyedflib.FILETYPE_EDFPLUS, 0.25,
                  numpy.random.default_rng(8))
    write_unusual("long.bdf", pyedflib.FILETYPE_BDFPLUS, 8,
                  numpy.random.default_rng(9))
    rng = numpy.random.default_rng(7)
    recorded = {}
    for name, kind in KINDS.items():
        write(name, kind, rng)
    for name in [*KINDS, "stages.edf", "late.edf", "short.edf",
                 "long.bdf"]:
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
