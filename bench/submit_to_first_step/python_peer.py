# SPDX-License-Identifier: Apache-2.0
"""The job of run.py as a plain Python script: prints when its first optimizer
step was done, and ends.

    python_peer.py digits.csv.gz
"""

import gzip
import sys
import time

import torch
from torch import nn


def main():
    torch.set_num_threads(1)
    torch.manual_seed(42)
    with gzip.open(sys.argv[1], 'rt') as file:
        rows = [[float(value) for value in line.split(',')] for line in file]
    table = torch.tensor(rows)
    data = torch.utils.data.TensorDataset((table[:, :64] - 4.88) / 6.02,
                                          table[:, 64].long())
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    network = nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1),
        nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.003,
                                  weight_decay=0.01)
    x, y = next(iter(loader))
    nn.functional.cross_entropy(network(x), y).backward()
    optimizer.step()
    print('FIRST_STEP', time.time(), flush=True)


if __name__ == '__main__':
    main()
