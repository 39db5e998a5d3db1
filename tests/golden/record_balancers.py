#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records weights of losses and residuals from PhiJAX, for balancers_test.cc.

Needs phijax 0.2.0b5 (Python 3.12; on an older one with its annotations taken
back) with jax 0.10.2, flax 0.12.8, optax 0.2.8, orbax-checkpoint 0.12.8, and
torch and numpy for fill.py; writes balancers.json.

    JAX_PLATFORMS=cpu python tests/golden/record_balancers.py

A small network learns Burgers' equation from points inside (`pde`) and values
at the start (`start`) and the ends (`ends`). Each update sees weights of the
network of its own, filled by streams 100*update + i, and the same points.
"""

import functools
import json
import pathlib

import jax
import jax.numpy as jnp
from phijax.balancers import ExactNTKBalancer, GradNormBalancer
from phijax.core import BasePhiModule
from phijax.equations.data_fidelity import base_data_fidelity
from phijax.equations.pde.burgers import burgers_1d
from phijax.objectives import CompositeObjective, ResidualTerm

from fill import fill

FOLDER = pathlib.Path(__file__).parent
NAMES = ("pde", "start", "ends")
SHAPES = [(6, 2), (6,), (6, 6), (6,), (1, 6), (1,)]
NUM_UPDATES = 4
KERNEL_SIZE = 5


def filled(shape, stream):
    return jnp.asarray(fill(shape, stream).numpy())


def state_of(update):
    """Weights as torch shapes them; later updates see greater ones."""
    return [filled(shape, 100 * update + i) * (1.0 + update)
            for i, shape in enumerate(SHAPES)]


def apply(state, inputs):
    x = jnp.tanh(inputs @ state[0].T + state[1])
    x = jnp.tanh(x @ state[2].T + state[3])
    return x @ state[4].T + state[5]


def points(stream):
    return filled((8, 2), stream) * 2


BATCHES = {
    "pde": {"inputs": points(50)},
    "start": {"inputs": points(51), "targets": filled((8, 1), 52)},
    "ends": {"inputs": points(53), "targets": filled((8, 1), 54) * 4},
}


class Module(BasePhiModule):
    def __init__(self):
        super().__init__()
        data = functools.partial(base_data_fidelity, weight_key=None)
        self.objective = CompositeObjective({
            "pde": ResidualTerm(burgers_1d, batch_key="pde", names=["pde"]),
            "start": ResidualTerm(data, batch_key="start", names=["start"],
                                  ntk_stream="output"),
            "ends": ResidualTerm(data, batch_key="ends", names=["ends"],
                                 ntk_stream="output")})

    @property
    def loss_names(self):
        return NAMES

    def forward(self, state, inputs):
        return apply(state, inputs)

    def training_step(self, state, batches):
        return self.objective.losses(apply, state, batches)

    def residual_stream(self, name, state, batches):
        return self.objective.residual_stream(name, apply, state, batches)


def numbers(array):
    return [float(value) for value in jnp.ravel(array)]


def record(balancer, batches):
    module, update = Module(), None
    update = balancer.make_update(module)
    state = balancer.initialize()
    weights, measured = [], []
    for i in range(NUM_UPDATES):
        state = update(state_of(i), batches, state)
        weights.append(numbers(state.weights))
        measured.append(numbers(state.traces))
    return {"weights": weights, "measured": measured}


def main():
    kernel = {name: {field: values[:KERNEL_SIZE]
                     for field, values in batch.items()}
              for name, batch in BATCHES.items()}
    module = Module()
    values = {
        "losses": [numbers(jnp.stack([
            module.training_step(state_of(i), BATCHES)[name]
            for name in NAMES])) for i in range(NUM_UPDATES)],
        "residual": numbers(
            module.residual_stream("pde", state_of(1), BATCHES)),
        "gradient_norm": record(
            GradNormBalancer(NAMES, update_every_n_steps=1,
                             initial_weights={"ends": 3.0}), BATCHES),
        "gradient_norm_fast": record(
            GradNormBalancer(NAMES, update_every_n_steps=1, eps=0.01,
                             moving_average_coefficient=0.25), BATCHES),
        "ntk": record(
            ExactNTKBalancer(NAMES, update_every_n_steps=1,
                             kernel_size=KERNEL_SIZE,
                             initial_weights={"pde": 0.5}), kernel),
    }
    path = FOLDER / "balancers.json"
    path.write_text(json.dumps(values, separators=(",", ":"))
                    .replace('},"', '},\n"') + "\n")
    print(path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
