#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what torchvision's and torch_ecg's random transforms make of a sample
when they draw what ours draw.

Needs torch 2.11.0, torchvision 0.26.0, torch_ecg 0.0.33, numpy 2.4.6 and
safetensors; writes draws.json and draws.safetensors for draws_test.cc:

    python tests/golden/record_draws.py

draws.json has cases {"name", "job", "field", "seed"[, "bytes"]}; what the
package gives is in draws.safetensors by name. Draws come from a twin of the
engine's random stream (data/random.h), put in the place of the packages'
generators: ranges, order of draws and operations are the packages' own. What no
package has (RandomShift, RandomRotate90, Cutout, SignalNoise, LeadDropout) is
said by one operation of torch or torchvision on the numbers drawn.
"""

import contextlib
import json
import math
import pathlib
from unittest import mock

import numpy
import torch
from safetensors.torch import save_file
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

from recording import field, part_of, tensor_of

ecg = {name: part_of(f"torch_ecg.augmenters.{name}", "torch_ecg.utils")
       for name in ("baseline_wander", "random_flip", "random_masking",
                    "random_renormalize", "stretch_compress")}
DEFAULTS = ecg["baseline_wander"].DEFAULTS
FOLDER = pathlib.Path(__file__).parent
BITS = (1 << 64) - 1
BILINEAR = v2.InterpolationMode.BILINEAR


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & BITS
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & BITS
    return z ^ (z >> 31)


class Stream:
    """The engine's Random({seed}), in Python."""

    def __init__(self, seed):
        self.state = mixed((0x9e3779b97f4a7c15 * 2 + seed) & BITS)

    def next(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) & BITS
        return mixed(self.state)

    def uniform(self):
        return (self.next() >> 11) * 2.0 ** -53

    def below(self, bound):
        limit = BITS - BITS % bound
        while True:
            draw = self.next()
            if draw < limit:
                return draw % bound

    def normal(self):
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        return radius * math.cos(2 * math.pi * self.uniform())

    def happens(self, probability):
        return self.uniform() < probability

    def order(self, count):
        items = list(range(count))
        for i in range(count, 1, -1):
            j = self.below(i)
            items[i - 1], items[j] = items[j], items[i - 1]
        return items


@contextlib.contextmanager
def drawing(stream):
    """torch draws from the stream."""
    def randint(low, high, size):
        return torch.full(size, low + stream.below(high - low))

    def normal_(tensor):
        # Both of Box and Muller's values are used, an odd last one not.
        values = []
        while len(values) < tensor.numel():
            radius = math.sqrt(-2 * math.log(1 - stream.uniform()))
            angle = 2 * math.pi * stream.uniform()
            values += [radius * math.cos(angle), radius * math.sin(angle)]
        return torch.tensor(values[:tensor.numel()]).view(tensor.shape)

    with mock.patch.object(torch, "randint", randint), \
            mock.patch.object(torch, "rand", lambda *_: torch.tensor(
                [stream.uniform()], dtype=torch.float64)), \
            mock.patch.object(torch, "randperm", lambda count: torch.tensor(
                stream.order(count))), \
            mock.patch.object(torch.Tensor, "normal_", normal_), \
            mock.patch.object(
                torch.Tensor, "uniform_",
                lambda _, low, high: torch.tensor(
                    [low + (high - low) * stream.uniform()],
                    dtype=torch.float64)):
        yield


CASES, OUTPUTS = [], {}


def case(job, described, make, seeds, **more):
    """`make` takes the sample and the stream."""
    for seed in seeds:
        count = sum(each["job"]["type"] == job["type"] for each in CASES)
        name = f"{job['type']}_{count}"
        x = tensor_of(described)
        x = x.to(torch.uint8) if "bytes" in more else x.float()
        y = make(x.clone(), Stream(seed))
        CASES.append({"name": name, "job": job, "field": described,
                      "seed": seed, **more})
        OUTPUTS[name] = y.float().contiguous().clone()


# ---- images ------------------------------------------------------------------

IMAGE = field((3, 9, 11), 60, 1.0, 0.5)
WIDE = field((3, 5, 21), 61, 1.0, 0.5)


def torchvision(job, transform, seeds, described=IMAGE):
    def make(x, stream):
        with drawing(stream):
            return transform(x)
    case(job, described, make, seeds)


torchvision({"type": "Normalize", "mean": [0.1, 0.2, 0.3],
             "std": [0.5, 0.25, 2.0]},
            v2.Normalize([0.1, 0.2, 0.3], [0.5, 0.25, 2.0]), [0])
torchvision({"type": "Normalize", "mean": 0.13, "std": 0.31},
            v2.Normalize([0.13] * 3, [0.31] * 3), [0])
case({"type": "ToFloat"}, field((3, 5, 7), 62, classes=256),
     lambda x, _: F.to_dtype(x, torch.float32, scale=True), [0], bytes=True)
torchvision({"type": "RandomHorizontalFlip", "p": 0.4},
            v2.RandomHorizontalFlip(0.4), [1, 2, 3])
torchvision({"type": "RandomVerticalFlip", "p": 0.6},
            v2.RandomVerticalFlip(0.6), [1, 2, 3])
torchvision({"type": "RandomCrop", "size": [6, 7]}, v2.RandomCrop([6, 7]),
            [1, 2])
torchvision({"type": "RandomCrop", "size": 8, "padding": 2, "fill": 0.5},
            v2.RandomCrop(8, padding=2, fill=0.5), [3, 4])
torchvision({"type": "RandomResizedCrop", "size": [6, 8]},
            v2.RandomResizedCrop([6, 8], antialias=True), [1, 2, 3])
torchvision({"type": "RandomResizedCrop", "size": 5, "scale": [0.9, 1.0],
             "ratio": [0.5, 0.6], "interpolation": "bicubic"},
            v2.RandomResizedCrop(5, scale=(0.9, 1.0), ratio=(0.5, 0.6),
                                 interpolation=v2.InterpolationMode.BICUBIC,
                                 antialias=True), [1, 2])
torchvision({"type": "RandomErasing", "p": 0.7, "value": [0.1, 0.2, 0.3]},
            v2.RandomErasing(0.7, value=[0.1, 0.2, 0.3]), [1, 2, 4])
torchvision({"type": "RandomErasing", "p": 1.0, "scale": [0.2, 0.5],
             "ratio": [0.3, 3.3]},
            v2.RandomErasing(1.0, scale=(0.2, 0.5)), [5, 6])
# No hole of such a shape fits.
torchvision({"type": "RandomErasing", "p": 1.0, "scale": 0.9, "ratio": 1.0},
            v2.RandomErasing(1.0, scale=(0.9, 0.9), ratio=(1.0, 1.0)), [1],
            WIDE)
jitter = {"brightness": 0.4, "contrast": [0.5, 1.2], "saturation": 0.7,
          "hue": 0.3}
torchvision({"type": "ColorJitter", **jitter}, v2.ColorJitter(**jitter),
            [1, 2, 3])
torchvision({"type": "ColorJitter", "contrast": 1.5, "hue": [0.1, 0.2]},
            v2.ColorJitter(contrast=1.5, hue=[0.1, 0.2]), [4])
torchvision({"type": "RandomGrayscale", "p": 0.5}, v2.RandomGrayscale(0.5),
            [1, 2, 3])
torchvision({"type": "RandomRotation", "degrees": 40,
             "interpolation": "bilinear", "fill": 0.5},
            v2.RandomRotation(40, BILINEAR, fill=0.5), [1, 2])
torchvision({"type": "RandomRotation", "degrees": [10, 170],
             "interpolation": "bilinear"},
            v2.RandomRotation([10, 170], BILINEAR), [3])
torchvision({"type": "RandomAffine", "degrees": 30, "translate": [0.2, 0.3],
             "scale": [0.7, 1.4], "shear": [-10, 10, -5, 20],
             "interpolation": "bilinear", "fill": 0.25},
            v2.RandomAffine(30, [0.2, 0.3], [0.7, 1.4], [-10, 10, -5, 20],
                            BILINEAR, fill=0.25), [1, 2])


def shifted(x, stream):
    top, left = stream.below(7), stream.below(7)
    return F.crop(F.pad(x, [3], fill=0.5), top, left, *x.shape[1:])


def turned(x, stream):
    turns, quarters = stream.happens(0.8), stream.below(4)
    return torch.rot90(x, quarters if turns else 0, (1, 2))


def cut(x, stream):
    height, width = x.shape[1:]
    for _ in range(2):
        y, left = stream.below(height), stream.below(width)
        rows = [i for i in range(y - 2, y + 2) if 0 <= i < height]
        columns = [i for i in range(left - 2, left + 2) if 0 <= i < width]
        x = F.erase(x, rows[0], columns[0], len(rows), len(columns),
                    torch.tensor(0.75))
    return x


case({"type": "RandomShift", "pixels": 3, "fill": 0.5}, IMAGE, shifted, [1, 2])
case({"type": "RandomRotate90", "p": 0.8}, IMAGE, turned, [1, 2, 3, 5])
case({"type": "Cutout", "size": 4, "holes": 2, "value": 0.75}, IMAGE, cut,
     [1, 2])

# ---- signals -----------------------------------------------------------------

SIGNAL = field((3, 80), 63, 2.0, 0.1)


def torch_ecg(augment, x, **generator):
    """`augment`, with these functions for the generator's."""
    rng = mock.Mock(**generator)
    with mock.patch.object(DEFAULTS, "RNG", rng):
        return augment(x[None], torch.zeros(1, 1))[0][0]


def wander(p):
    amplitudes = [[0.1, 0.06], [0.25, 0.35], [0.02, 0.4]]
    noise = [0.001, 0.02]
    augment = ecg["baseline_wander"].BaselineWanderAugmenter(
        fs=40, bw_fs=numpy.array([0.33, 2.0]),
        ampl_ratio=numpy.array(amplitudes),
        gaussian=numpy.array([[0, each] for each in noise]), prob=p)

    def make(x, stream):
        rows, kinds, phases, normals = [], [], [], []
        for _ in x:
            sines, noisy = stream.happens(p), stream.happens(p)
            # Rows of zeros come first there, as many as p says.
            row, kind = stream.below(3), stream.below(2)
            rows.append(len(augment.ampl_ratio) - 3 + row if sines else 0)
            kinds.append(len(augment.gaussian) - 2 + kind if noisy else 0)
            phases.append([stream.below(361) for _ in range(2)])
            normals.append([stream.normal() if noisy else 0.0
                            for _ in range(x.shape[1])])
        integers = iter([rows, kinds, phases])
        return torch_ecg(
            augment, x.double(),
            integers=lambda *_: numpy.array(next(integers)),
            normal=lambda mean, std, _: mean + std * numpy.array(normals))
    case({"type": "BaselineWander", "fs": 40, "frequencies": [0.33, 2.0],
          "amplitudes": amplitudes, "noise": noise, "p": p}, SIGNAL, make,
         [1, 2])


def flip(p, per_lead):
    augment = ecg["random_flip"].RandomFlip(per_channel=per_lead, prob=p)

    def make(x, stream):
        chosen = stream.happens(p[0])
        leads = [i for i in range(len(x)) if stream.happens(p[1])]
        indices = iter([[0] if chosen else [], leads])
        augment.get_indices = lambda prob, pop_size: next(indices)
        return torch_ecg(augment, x)
    case({"type": "SignalFlip", "p": p, "per_lead": per_lead},
         field((3, 10), 64), make, [1, 2, 3])


def mask():
    augment = ecg["random_masking"].RandomMasking(
        40, mask_width=[0.1, 0.3], prob=[0.8, 0.5])

    def make(x, stream):
        least, most = 4, 12
        if not stream.happens(0.8):
            return x
        middles, widths = [], []
        for i in range(x.shape[1] - most):
            if stream.happens(0.5 / most):
                middles.append(i)
                widths.append(least + stream.below(most - least + 1))
        indices, drawn = iter([[0], middles]), iter(widths)

        def randint(low, high):
            assert (low, high) == (least, most)
            return next(drawn)
        augment.get_indices = lambda prob, pop_size, **_: next(indices)
        with mock.patch.object(DEFAULTS, "RNG_randint", randint):
            return torch_ecg(augment, x)
    case({"type": "SignalMask", "fs": 40, "width": [0.1, 0.3],
          "p": [0.8, 0.5]}, SIGNAL, make, [1, 2, 3])


def renormalize(per_lead):
    ranges = {"mean": [-0.5, 0.25], "std": [0.5, 2.0]}
    augment = ecg["random_renormalize"].RandomRenormalize(
        **ranges, per_channel=per_lead, prob=0.7)

    def make(x, stream):
        chosen = stream.happens(0.7)
        pairs = [[stream.normal(), stream.normal()]
                 for _ in range(len(x) if per_lead else 1)]
        drawn = iter(numpy.array(pairs).T[:, None, :, None])
        augment.get_indices = lambda *_, **__: [0] if chosen else []
        # As its Normalize, but not its RandomRenormalize, divides.
        std_of = torch.Tensor.std
        with mock.patch.object(
                torch.Tensor, "std", lambda values, **options: std_of(
                    values, correction=0, **options)):
            return torch_ecg(
                augment, x, normal=lambda mean, std, size: (
                    mean + std * next(drawn))[:size[0]])
    case({"type": "Renormalize", **ranges, "per_lead": per_lead, "p": 0.7},
         SIGNAL, make, [1, 3] if per_lead else [1, 2, 3])


def stretch():
    augment = ecg["stretch_compress"].StretchCompress(ratio=20, prob=0.8)

    def make(x, stream):
        chosen = stream.happens(0.8)
        augment.get_indices = lambda **_: [0] if chosen else []
        return torch_ecg(
            augment, x, choice=lambda signs: signs[stream.below(2)],
            normal=lambda mean, std: mean + std * stream.normal())
    case({"type": "StretchCompress", "ratio": 20, "p": 0.8}, SIGNAL, make,
         [1, 2, 3, 4])


def noisy(relative):
    def make(x, stream):
        if not stream.happens(0.7):
            return x
        scale = x.std(1, correction=0, keepdim=True) if relative else 1.0
        normals = [[stream.normal() for _ in lead] for lead in x]
        return x + 0.3 * scale * torch.tensor(normals)
    case({"type": "SignalNoise", "std": 0.3, "relative": relative, "p": 0.7},
         SIGNAL, make, [1, 3])


def dropped(x, stream):
    kept = stream.below(len(x))
    keep = [not stream.happens(0.7) or lead == kept for lead in range(len(x))]
    return x * torch.tensor(keep)[:, None]


wander(1.0)
wander(0.5)
flip([0.6, 0.5], True)
flip([0.6, 0.5], False)
mask()
renormalize(False)
renormalize(True)
stretch()
noisy(True)
noisy(False)
case({"type": "LeadDropout", "p": 0.7}, field((4, 10), 65), dropped, [1, 2])


def main():
    (FOLDER / "draws.json").write_text("[" + ",\n".join(
        json.dumps(each, separators=(",", ":")) for each in CASES) + "]\n")
    save_file(OUTPUTS, FOLDER / "draws.safetensors")
    print(len(CASES), "cases,",
          (FOLDER / "draws.safetensors").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
