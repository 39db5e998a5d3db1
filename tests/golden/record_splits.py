# SPDX-License-Identifier: Apache-2.0
"""Records splits of scikit-learn 1.9.1 and samplers of torch 2.11.

  pip install scikit-learn==1.9.1 torch==2.11.0
  python tests/golden/record_splits.py
"""
import json
import pathlib
import random

import numpy as np
import torch
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

HERE = pathlib.Path(__file__).parent


def folds(splitter, size, labels=None, groups=None):
    fold_of = [-1] * size
    for fold, (_, held_out) in enumerate(
            splitter.split(np.zeros(size), labels, groups)):
        for row in held_out.tolist():
            fold_of[row] = fold
    return fold_of


def split_cases():
    draw = random.Random(3)
    cases = []
    for size, k in ((10, 3), (23, 5), (7, 7)):
        cases.append({'kind': 'plain', 'size': size, 'folds': k,
                      'fold_of': folds(KFold(k), size)})
    for size, k, classes in ((40, 4, 3), (57, 5, 6), (30, 2, 2)):
        labels = [min(draw.randrange(classes), draw.randrange(classes)) * 7 - 3
                  for _ in range(size)]
        cases.append({'kind': 'labels', 'size': size, 'folds': k,
                      'labels': labels,
                      'fold_of': folds(StratifiedKFold(k), size, labels)})
    for sizes, k in (([1, 2, 3, 4, 5, 6, 7], 3), ([9, 1, 4, 2, 7], 2)):
        groups = [group * 10 for group, n in enumerate(sizes) for _ in range(n)]
        draw.shuffle(groups)
        cases.append({'kind': 'groups', 'size': len(groups), 'folds': k,
                      'groups': groups,
                      'fold_of': folds(GroupKFold(k), len(groups), None,
                                       groups)})
    return cases


def sampler_cases():
    weights = [0.1, 0.0, 2.5, 1.0, 0.4, 3.0, 0.7]
    cases = []
    for seed, epoch, count, replacement in ((0, 0, 12, True), (5, 3, 12, True),
                                            (0, 1, 4, False), (9, 2, 6, False)):
        generator = torch.Generator().manual_seed(seed + epoch)
        sampler = torch.utils.data.WeightedRandomSampler(
            weights, count, replacement, generator)
        cases.append({'seed': seed, 'epoch': epoch, 'count': count,
                      'replacement': replacement, 'order': list(sampler)})
    return {'weights': weights, 'cases': cases}


def main():
    recorded = {'splits': split_cases(), 'weighted': sampler_cases()}
    (HERE / 'splits.json').write_text(json.dumps(recorded) + '\n')


if __name__ == '__main__':
    main()
