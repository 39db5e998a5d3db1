#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records WGAN-GP's gradient penalty (Gulrajani et al. 2017) in PyTorch 2.11.

    python tests/golden/record_gradient_penalty.py

writes gradient_penalty.json: for D(x) = sum of w x^2 / 2, the penalty and its
derivative by w, with shares drawn after torch.manual_seed(SEED)."""

import json
import pathlib

import torch

SEED = 2017
WEIGHT = 10.0
W = 2.0
REAL = [[3.0, 1.0], [0.5, -0.25], [0.1, 0.2]]
FAKE = [[1.0, -1.0], [0.0, 0.75], [-0.3, 0.4]]


def main():
    torch.manual_seed(SEED)
    w = torch.tensor(W, dtype=torch.double, requires_grad=True)
    real = torch.tensor(REAL, dtype=torch.double)
    fake = torch.tensor(FAKE, dtype=torch.double)
    share = torch.rand(len(REAL), 1, dtype=torch.double)
    points = (share * real + (1 - share) * fake).requires_grad_(True)
    scores = (w * points**2 / 2).sum(1)
    gradient, = torch.autograd.grad(scores.sum(), points, create_graph=True)
    penalty = WEIGHT * ((gradient.norm(2, dim=1) - 1)**2).mean()
    penalty.backward()
    values = {"seed": SEED, "weight": WEIGHT, "w": W, "real": REAL,
              "fake": FAKE, "penalty": penalty.item(),
              "derivative": w.grad.item()}
    path = pathlib.Path(__file__).parent / "gradient_penalty.json"
    path.write_text(json.dumps(values) + "\n")


if __name__ == "__main__":
    main()
