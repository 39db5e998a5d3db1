#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records in which order samplers give samples to ranks, and seeds of workers.

Needs mmengine 0.10.7 and torch 2.11.0; writes order.json for order_test.cc:

    python tests/golden/record_order.py

orders    indices by (seed, epoch, rank) of torch's DistributedSampler and
          MMEngine's DefaultSampler, with every way to share out what is left
batches   the same through torch's DataLoader, by batches
endless   the first 3 passes of MMEngine's InfiniteSampler
workers   what MMEngine's worker_init_fn seeds with, for 2 ranks of 2 workers
ranks     what MMEngine's set_random_seed seeds with, for 4 ranks
"""

import itertools
import json
import pathlib
from unittest import mock

import torch
from mmengine.dataset import DefaultSampler, InfiniteSampler, sampler
from mmengine.dataset.utils import worker_init_fn
from mmengine.runner import utils
from torch.utils.data import DataLoader, DistributedSampler

FOLDER = pathlib.Path(__file__).parent
SEEDS = (0, 7, 2**31, 2**32 + 5)
EPOCHS = 3


def of_rank(make, rank, world):
    with mock.patch.object(sampler, "get_dist_info", lambda: (rank, world)):
        return make()


def default_sampler(size, shuffle, seed, rank, world, is_padded):
    return of_rank(
        lambda: DefaultSampler(range(size), shuffle=shuffle, seed=seed,
                               round_up=is_padded), rank, world)


def distributed_sampler(size, shuffle, seed, rank, world, is_padded):
    return DistributedSampler(range(size), num_replicas=world, rank=rank,
                              shuffle=shuffle, seed=seed,
                              drop_last=not is_padded)


# What is left of an uneven share: repeated to a whole one, left out, or given
# to some of the ranks.
SAMPLERS = {
    "torch": (distributed_sampler, {"pad": True, "drop": False}),
    "mmengine": (default_sampler, {"pad": True, "keep": False}),
}


def epochs_of(one):
    epochs = []
    for epoch in range(EPOCHS):
        one.set_epoch(epoch)
        epochs.append(list(one))
    return epochs


def record_orders():
    cases = []
    for system, (make, shares) in SAMPLERS.items():
        for share, size, world, seed in itertools.product(
                shares, (3, 10, 21), (1, 2, 4), SEEDS):
            if share == "drop" and size < world:
                continue  # an error here, nothing there
            cases.append({
                "system": system, "share": share, "size": size, "seed": seed,
                "world": world, "shuffle": seed != 7,
                "ranks": [epochs_of(make(size, seed != 7, seed, rank, world,
                                         shares[share]))
                          for rank in range(world)]})
    return cases


def record_batches():
    cases = []
    for drop_last, world in itertools.product((False, True), (1, 2)):
        ranks = []
        for rank in range(world):
            order = distributed_sampler(21, True, 3, rank, world, True)
            order.set_epoch(1)
            loader = DataLoader(range(21), batch_size=4, sampler=order,
                                drop_last=drop_last)
            ranks.append([batch.tolist() for batch in loader])
        cases.append({"size": 21, "batch_size": 4, "seed": 3, "epoch": 1,
                      "world": world, "drop_last": drop_last, "ranks": ranks})
    return cases


def record_endless():
    cases = []
    for size, world, shuffle in itertools.product((6, 7), (1, 2),
                                                  (False, True)):
        ranks = []
        for rank in range(world):
            one = of_rank(
                lambda: InfiniteSampler(range(size), shuffle=shuffle, seed=3),
                rank, world)
            # Ranks are looked up when the first sample is taken.
            ranks.append(list(itertools.islice(iter(one), 3 * size // world)))
        cases.append({"size": size, "world": world, "shuffle": shuffle,
                      "seed": 3, "ranks": ranks})
    return cases


def record_workers():
    seeds = []
    for rank, worker in itertools.product(range(2), range(2)):
        worker_init_fn(worker, num_workers=2, rank=rank, seed=3)
        seeds.append(torch.initial_seed())
    return seeds


def record_ranks():
    recorded = {}
    for differs in (False, True):
        seeds = []
        for rank in range(4):
            with mock.patch.object(utils, "get_rank", lambda: rank):
                utils.set_random_seed(3, diff_rank_seed=differs)
            seeds.append(torch.initial_seed())
        recorded["different" if differs else "same"] = seeds
    return recorded


def main():
    parts = {"orders": record_orders(), "batches": record_batches(),
             "endless": record_endless()}
    text = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in cases) + "]"
        for name, cases in parts.items())
    (FOLDER / "order.json").write_text(
        "{" + text + f',\n"workers": {record_workers()},\n"ranks": ' +
        json.dumps(record_ranks()) + "}\n")


if __name__ == "__main__":
    main()
