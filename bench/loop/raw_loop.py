# SPDX-License-Identifier: Apache-2.0
"""The training of workload.h in plain Python PyTorch.

    raw_loop.py ready|loader [steps]
"""

import json
import os
import sys
import time

os.environ.setdefault('OMP_NUM_THREADS', '1')
import torch  # noqa: E402
from torch import nn  # noqa: E402

BATCH, WARM = 32, 200


def make_network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64),
                         nn.ReLU(), nn.Linear(64, 10))


def make_data(batches):
    torch.manual_seed(1)
    return (torch.randn(batches * BATCH, 32),
            torch.randint(0, 10, (batches * BATCH,)))


def main(source, steps):
    torch.set_num_threads(1)
    data = make_data(WARM + steps + 2)
    if source == 'ready':
        batches = list(zip(*(each.split(BATCH) for each in data)))
    else:
        batches = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(*data), batch_size=BATCH)
    network = make_network()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    network.train()
    began = ended = 0.0
    for number, (x, y) in enumerate(batches):
        if number == WARM:
            began = time.perf_counter()
        elif number == WARM + steps:
            ended = time.perf_counter()
        optimizer.zero_grad()
        loss = criterion(network(x), y)
        loss.backward()
        optimizer.step()
    checksum = sum(p.detach().double().abs().sum().item()
                   for p in network.parameters())
    with open('/proc/self/statm') as statm:
        resident = int(statm.read().split()[1]) * 4096 / 2**20
    print('RESULT', json.dumps({'us': (ended - began) / steps * 1e6,
                                'checksum': checksum, 'VmRSS': resident}))


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4000)
