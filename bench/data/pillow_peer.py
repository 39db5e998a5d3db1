#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What image_bench.cc does, with Pillow and PyTorch's DataLoader:

    pillow_peer.py decode FOLDER SIDE SECONDS
    pillow_peer.py loader FOLDER SIDE SECONDS WORKERS
"""

import json
import pathlib
import random
import resource
import sys
import time

import numpy
import torch
from PIL import Image

REPEAT = 32
BATCH = 16


class Crops(torch.utils.data.Dataset):
    def __init__(self, folder, side):
        self.paths = sorted(pathlib.Path(folder).glob('*.png'))
        self.side = side

    def __len__(self):
        return len(self.paths) * REPEAT

    def __getitem__(self, index):
        path = self.paths[index % len(self.paths)]
        with Image.open(path) as image:
            image = image.convert('RGB')
        if self.side > 0:
            left = random.randint(0, image.width - self.side)
            top = random.randint(0, image.height - self.side)
            image = image.crop(
                (left, top, left + self.side, top + self.side))
        # As torchvision's to_tensor.
        array = torch.from_numpy(numpy.array(image, copy=True))
        return array.permute(2, 0, 1).contiguous().to(
            torch.float32).div(255)


def cpu_seconds():
    return sum(usage.ru_utime + usage.ru_stime for usage in (
        resource.getrusage(resource.RUSAGE_SELF),
        resource.getrusage(resource.RUSAGE_CHILDREN)))


def main():
    mode, folder, side, limit = sys.argv[1:5]
    data = Crops(folder, int(side))
    limit = float(limit)
    torch.set_num_threads(1)
    crops = 0
    if mode == 'decode':
        start, cpu = time.monotonic(), cpu_seconds()
        while time.monotonic() - start < limit:
            for i in range(len(data.paths)):
                data[i]
                crops += 1
        seconds = time.monotonic() - start
    else:
        loader = torch.utils.data.DataLoader(
            data, batch_size=BATCH, shuffle=True,
            num_workers=int(sys.argv[5]), persistent_workers=True)
        for _ in loader:  # starts the workers
            pass
        start, cpu = time.monotonic(), cpu_seconds()
        while time.monotonic() - start < limit:
            for batch in loader:
                crops += len(batch)
                if time.monotonic() - start >= limit:
                    break
        seconds = time.monotonic() - start
    print('RESULT ' + json.dumps({
        'crops_per_s': crops / seconds,
        'cpu_s_per_crop': (cpu_seconds() - cpu) / crops}))


if __name__ == '__main__':
    main()
