#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what scipy and torch_ecg make of signals, in signals/transforms.json.

Needs torch_ecg 0.0.33, scipy 1.17.1, numpy and torch 2.11.0. Run it again only
to add cases:

    python tests/golden/record_signals.py

Inputs are not recorded: signal() makes them, and the tests do the same.
"""

import json
import math
import pathlib

import numpy
import scipy.signal
import torch
from torch_ecg._preprocessors import normalize as normalize_module
from torch_ecg.augmenters import baseline_wander, label_smooth
from torch_ecg.augmenters import stretch_compress
from torch_ecg.utils.utils_signal import get_ampl

FOLDER = pathlib.Path(__file__).parent / "signals"


def signal(leads, size):
    """Sines of each lead's own frequency and offset, the same in C++."""
    return numpy.array([[
        math.sin(0.05 * (lead + 1) * i) + 0.3 * math.cos(0.7 * i + lead) +
        0.25 * lead for i in range(size)] for lead in range(leads)])


def filters():
    cases = []
    for order, low, high, fs, size in (
            (4, 0.5, 45, 250, 200), (3, 0, 40, 100, 60), (2, 1, 0, 100, 60),
            (1, 5, 49, 100, 50), (5, 0.67, 0, 360, 300), (3, 0.1, 49.9, 100, 90)):
        wanted = [low, high] if low and high else (low or high)
        kind = "bandpass" if low and high else "lowpass" if high else "highpass"
        sections = scipy.signal.butter(
            order, wanted, kind, fs=fs, output="sos")
        x = signal(2, size)
        cases.append({
            "order": order, "low": low, "high": high, "fs": fs, "size": size,
            "response": [
                abs(v) for v in scipy.signal.freqz_sos(
                    sections, worN=[0.3, 3, 20, 44], fs=fs)[1]],
            "filtered": scipy.signal.sosfiltfilt(sections, x).tolist()})
    return cases


def resampled():
    cases = []
    for up, down, size in ((1, 2, 101), (2, 1, 50), (3, 2, 67), (25, 36, 80),
                           (5, 4, 31), (1, 3, 5)):
        x = signal(2, size)
        cases.append({
            "up": up, "down": down, "size": size,
            "zero": scipy.signal.resample_poly(x, up, down, axis=1).tolist(),
            "repeat": scipy.signal.resample_poly(
                x, up, down, axis=1, padtype="edge").tolist()})
    return cases


def normalized():
    x = signal(3, 40)
    out = []
    for method in ("z-score", "min-max", "naive"):
        for per_lead in (False, True):
            apply = normalize_module.Normalize(
                method, mean=0.5, std=2.0, per_channel=per_lead)
            out.append({"method": method, "per_lead": per_lead,
                        "values": apply(x, 100)[0].tolist()})
    return out


def stretched():
    """StretchCompress with the sign and the ratio held fixed."""
    class Fixed:
        def __init__(self, sign, ratio):
            self.sign, self.ratio = sign, ratio

        def choice(self, _):
            return self.sign

    x = torch.tensor(signal(2, 60), dtype=torch.float32)
    label = torch.tensor(signal(1, 60).T, dtype=torch.float32)
    out = []
    for sign, ratio in ((1, 0.06), (-1, 0.06), (1, 0.25), (-1, 0.31),
                        (1, 0.001)):
        augment = stretch_compress.StretchCompress(ratio=ratio, prob=1.0)
        augment.get_indices = lambda prob, pop_size, **_: list(range(pop_size))
        augment._sample_ratio = lambda: ratio
        kept = stretch_compress.DEFAULTS.RNG
        stretch_compress.DEFAULTS.RNG = Fixed(sign, ratio)
        values, moved = augment(x.clone()[None], label.clone()[None])
        stretch_compress.DEFAULTS.RNG = kept
        out.append({"ratio": sign * ratio, "values": values[0].tolist(),
                    "label": moved[0, :, 0].tolist()})
    return out


def main():
    FOLDER.mkdir(exist_ok=True)
    x = signal(3, 230)
    label = torch.tensor([[0.0, 1.0, 1.0, 0.0]])
    smooth = label_smooth.LabelSmooth(smoothing=0.1, prob=1.0)
    smooth.get_indices = lambda prob, pop_size, **_: list(range(pop_size))

    class Phases:
        def __init__(self, values):
            self.values = list(values)

        def __call__(self, *_):
            return self.values.pop(0)

    kept = baseline_wander.DEFAULTS.RNG_randint
    baseline_wander.DEFAULTS.RNG_randint = Phases([10, 200])
    wander = baseline_wander._gen_baseline_wander(
        50, 100, [0.33, 2.0], [0.1, 0.05])
    baseline_wander.DEFAULTS.RNG_randint = kept
    recorded = {
        "filters": filters(),
        "resampled": resampled(),
        "normalized": normalized(),
        "stretched": stretched(),
        "amplitudes": [
            {"fs": fs, "values": get_ampl(x, fs).tolist()}
            for fs in (100, 360, 257)],
        "wander": wander.tolist(),
        "smoothed": smooth(None, label.clone())[1][0].tolist(),
    }
    with open(FOLDER / "transforms.json", "w", encoding="utf-8") as out:
        json.dump(recorded, out, separators=(",", ":"))
        out.write("\n")


if __name__ == "__main__":
    main()
