# SPDX-License-Identifier: Apache-2.0
"""Small SR-Forge models, a loss and batches for generators that run its
loops."""

import torch
from srforge.data import Entry
from srforge.metrics import Metric
from srforge.metrics.adversarial import (GANDiscriminatorLoss,
                                         GANGeneratorLoss)
from srforge.models import GANModel, Model
from srforge.training.runners import GANTrainingRunner
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from fill import fill


class Loader(DataLoader):
    """Gives these batches, but has the length that runners ask for."""

    def __init__(self, batches):
        super().__init__(TensorDataset(torch.zeros(len(batches))))
        object.__setattr__(self, "batches", batches)

    def __iter__(self):
        return iter(self.batches)


def random_batches(sizes):
    return [Entry(x=torch.randn(n, 3), y=torch.randn(n, 3)) for n in sizes]


class Linear(Model):
    def __init__(self, width=1, **kwargs):
        super().__init__(**kwargs)
        self.layer = nn.Linear(3, width, bias=False)
        with torch.no_grad():
            self.layer.weight.copy_(fill((width, 3), 0))

    def forward(self, x):
        return self.layer(x)


def linear(width=1):
    return Linear(width).set_io({"inputs": {"x": "x"}, "outputs": "p"})


class Judge(Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.layer = nn.Linear(3, 1)

    def forward(self, z):
        return self.layer(z)


class SquaredError(Metric):
    @property
    def best_min(self):
        return True

    def calculate_score(self, p: torch.Tensor,
                        y: torch.Tensor) -> torch.Tensor:
        return ((p - y)**2).mean(1)


def gan(hooks):
    """A GAN, and the runner that trains it."""
    generator = linear(3)
    judge = Judge()
    model = GANModel(generator, judge).set_io(
        {"inputs": {"real_field": "y", "fake_field": "p"}})
    d_loss = GANDiscriminatorLoss().set_io({
        "inputs": {"real_score": "real_score_d",
                   "fake_score": "fake_score_d"}})
    g_loss = GANGeneratorLoss(weight=1.0).set_io(
        {"inputs": {"fake_score": "fake_score_g"}})
    runner = GANTrainingRunner(
        torch.optim.SGD(generator.parameters(), lr=.01),
        torch.optim.SGD(judge.parameters(), lr=.01), d_loss, g_loss,
        hooks=hooks)
    return model, runner
