# SPDX-License-Identifier: Apache-2.0
"""Records MMEngine's image preprocessor, torchvision's MixUp and CutMix, and
what our Mosaic says of itself, in torch.

Needs torch 2.11.0, torchvision 0.26.0 and mmengine 0.10.7; writes
preprocessor.json beside this file:

    python tests/golden/record_preprocessor.py

Inputs are those of fill.py by their stream. MixUp and CutMix are recorded for
given lambdas and boxes: what torchvision draws is put in its place.
"""
import json
import pathlib

import torch
from fill import fill
from mmengine.model import ImgDataPreprocessor
from torchvision.transforms import v2

HERE = pathlib.Path(__file__).parent


def values(tensor):
    return {'shape': list(tensor.shape),
            'values': [round(v, 7) for v in tensor.double().flatten().tolist()]}


def preprocessor_cases():
    cases = []
    for shape, options in (
            ([2, 3, 3, 5], {'mean': [0.1, 0.2, 0.3], 'std': [0.5, 0.4, 2.0],
                            'bgr_to_rgb': True, 'pad_size_divisor': 4,
                            'pad_value': -7.0}),
            ([1, 1, 4, 4], {'mean': [0.25], 'std': [3.0],
                            'pad_size_divisor': 4}),
            ([2, 3, 2, 2], {'mean': [0.5], 'std': [0.25]}),
            ([1, 2, 5, 3], {'pad_size_divisor': 3, 'pad_value': 1.5})):
        data = fill(shape, 11).double().float()
        done = ImgDataPreprocessor(**options)({'inputs': data})['inputs']
        cases.append({'shape': shape, 'stream': 11, 'options': options,
                      'output': values(done)})
    return cases


class Fixed:
    """Stands for the distribution that lambda is drawn from."""

    def __init__(self, value):
        self.value = value

    def sample(self, _):
        return torch.tensor([self.value], dtype=torch.float64)


def mix_cases():
    labels = torch.tensor([2, 0, 1, 2])
    images = fill([4, 2, 6, 5], 12)
    cases = []
    for lam in (0.3, 0.85, 1.0):
        mix = v2.MixUp(num_classes=3)
        mix._dist = Fixed(lam)
        output, target = mix(images, labels)
        cases.append({'kind': 'mixup', 'lambda': lam, 'output': values(output),
                      'target': values(target)})
    for lam, x, y in ((0.3, 4, 1), (0.75, 0, 5), (0.9, 2, 3), (0.01, 2, 2)):
        mix = v2.CutMix(num_classes=3)
        mix._dist = Fixed(lam)
        places = [x, y]
        randint = torch.randint
        torch.randint = lambda *_, **__: torch.tensor([places.pop(0)])
        try:
            output, target = mix(images, labels)
        finally:
            torch.randint = randint
        cases.append({'kind': 'cutmix', 'lambda': lam, 'x': x, 'y': y,
                      'output': values(output), 'target': values(target)})
    return cases


def mosaic_cases():
    """Each pixel from the sample as many places before as its quarter says."""
    labels = torch.nn.functional.one_hot(torch.tensor([2, 0, 1, 2]), 3).float()
    cases = []
    for shape, y, x in (([4, 2, 6, 5], 2, 3), ([4, 2, 6, 5], 5, 1),
                        ([4, 3, 10], 1, 7)):
        images = fill(shape, 12)
        rows = torch.arange(shape[2] if len(shape) == 4 else 1)[:, None] >= y
        quarter = 2 * rows + (torch.arange(shape[-1]) >= x)
        if len(shape) == 3:
            quarter = quarter[0]
        joined, target = torch.zeros_like(images), torch.zeros_like(labels)
        for i in range(4):
            for k in range(4):
                source = quarter == k
                joined[i] = torch.where(source, images[i - k], joined[i])
                target[i] += labels[i - k] * source.double().mean()
        cases.append({'shape': shape, 'y': y, 'x': x,
                      'output': values(joined), 'target': values(target)})
    return cases


def main():
    recorded = {'preprocessor': preprocessor_cases(), 'mix': mix_cases(),
                'mosaic': mosaic_cases()}
    (HERE / 'preprocessor.json').write_text(json.dumps(recorded) + '\n')


if __name__ == '__main__':
    main()
