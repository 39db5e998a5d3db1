# SPDX-License-Identifier: Apache-2.0
"""The training of main.cc in plain Python PyTorch.

    raw_pinn.py [steps]
"""

import json
import math
import os
import sys
import time

os.environ.setdefault('OMP_NUM_THREADS', '1')
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.autograd import grad  # noqa: E402

WARM = 20
NU = 0.01 / math.pi
SHIFT, SCALE = torch.tensor([0.5, 0.0]), torch.tensor([2.0, 1.0])


def make_network():
    torch.manual_seed(0)
    layers, width = [], 2
    for _ in range(4):
        layers += [nn.Linear(width, 32), nn.Tanh()]
        width = 32
    network = nn.Sequential(*layers, nn.Linear(width, 1))
    for layer in network[::2]:
        nn.init.xavier_normal_(layer.weight)
        nn.init.zeros_(layer.bias)
    return network


def points():
    inside = torch.rand(1024, 2)
    inside[:, 1] = inside[:, 1] * 2 - 1
    start = torch.rand(256, 2) * 2 - 1
    start[:, 0] = 0
    ends = torch.rand(256, 2)
    ends[:128, 1], ends[128:, 1] = -1, 1
    return inside.requires_grad_(), start, ends


def main(steps):
    torch.set_num_threads(1)
    network = make_network()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    mse = nn.MSELoss()
    began = cpu_began = 0.0
    for number in range(WARM + steps):
        if number == WARM:
            began, cpu_began = time.perf_counter(), time.process_time()
        inside, start, ends = points()
        u = network((inside - SHIFT) * SCALE)[:, 0]
        first = grad(u.sum(), inside, create_graph=True)[0]
        second = grad(first[:, 1].sum(), inside, create_graph=True)[0]
        residual = first[:, 0] + u * first[:, 1] - NU * second[:, 1]
        at_start = network((start - SHIFT) * SCALE)[:, 0]
        at_ends = network((ends - SHIFT) * SCALE)[:, 0]
        loss = (residual.square().mean()
                + 10 * mse(at_start, -torch.sin(math.pi * start[:, 1]))
                + 10 * mse(at_ends, torch.zeros(256)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    micros = (time.perf_counter() - began) * 1e6 / steps
    cpu_micros = (time.process_time() - cpu_began) * 1e6 / steps
    print('RESULT ' + json.dumps({'us': round(micros, 1),
                                  'cpu_us': round(cpu_micros, 1),
                                  'loss': round(loss.item(), 6)}))


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
