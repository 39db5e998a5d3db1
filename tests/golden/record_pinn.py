#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records derivatives, residuals and Sobol points from Python PyTorch, for
pinn_test.cc.

Needs torch 2.11.0 and numpy; writes pinn.json. Models and points are filled by
the rule of fill.py. Everything in double, but for the values of the models.

    python tests/golden/record_pinn.py
"""

import json
import math
import pathlib

import torch
from torch import nn
from torch.autograd import grad

from fill import fill
from record import fill_model

FOLDER = pathlib.Path(__file__).parent
ACTIVATIONS = {"tanh": torch.tanh, "sin": torch.sin, "gelu": nn.functional.gelu,
               "silu": nn.functional.silu, "sigmoid": torch.sigmoid}


class FactorizedLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight_g = nn.Parameter(torch.empty(out_features))
        self.weight_v = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))

    def forward(self, x):
        return nn.functional.linear(x, self.weight_g[:, None] * self.weight_v,
                                    self.bias)


class PinnMLP(nn.Module):
    """The Python original of model/pinn_mlp.h."""

    def __init__(self, in_features, hidden, out_features, activation,
                 scaled=False, periods=(), fourier=0, trainable=False,
                 factorized=False):
        super().__init__()
        self.activation, self.periods = ACTIVATIONS[activation], periods
        width = in_features + sum(p != 0 for p in periods)
        if scaled:
            self.register_buffer("input_shift", torch.empty(in_features))
            self.register_buffer("input_scale", torch.empty(in_features))
        if fourier:
            b = torch.empty(width, fourier)
            if trainable:
                self.fourier = nn.Parameter(b)
            else:
                self.register_buffer("fourier", b)
            width = 2 * fourier
        layer = FactorizedLinear if factorized else nn.Linear
        layers = []
        for out in hidden:
            layers += [layer(width, out), nn.Identity()]
            width = out
        self.net = nn.Sequential(*layers, layer(width, out_features))

    def forward(self, points):
        x = points
        if hasattr(self, "input_shift"):
            x = (x - self.input_shift) * self.input_scale
        if self.periods:
            columns = []
            for i, period in enumerate(self.periods):
                if period == 0:
                    columns.append(x[..., i])
                else:
                    phase = points[..., i] * (2 * math.pi / period)
                    columns += [torch.cos(phase), torch.sin(phase)]
            x = torch.stack(columns, -1)
        if hasattr(self, "fourier"):
            phase = x @ self.fourier
            x = torch.cat([torch.cos(phase), torch.sin(phase)], -1)
        for i, layer in enumerate(self.net):
            if i % 2 == 0:
                x = layer(x)
            elif i + 1 < len(self.net):
                x = self.activation(x)
        return x


MODELS = {
    "tanh": dict(in_features=2, hidden=[8, 8], out_features=1,
                 activation="tanh"),
    "sin": dict(in_features=2, hidden=[8, 8], out_features=1, activation="sin",
                scaled=True),
    "gelu": dict(in_features=2, hidden=[6], out_features=1, activation="gelu",
                 periods=(0, 2.5)),
    "silu": dict(in_features=2, hidden=[8, 8], out_features=1,
                 activation="silu", fourier=5),
    "sigmoid": dict(in_features=2, hidden=[8, 8], out_features=1,
                    activation="sigmoid", factorized=True),
    "all": dict(in_features=3, hidden=[8, 6], out_features=2,
                activation="tanh", scaled=True, periods=(0, 2.0, 0), fourier=4,
                trainable=True, factorized=True),
}


def make(name):
    model = PinnMLP(**MODELS[name])
    fill_model(model)
    return model


def points_of(model, count, stream):
    return fill((count, MODELS[model]["in_features"]), stream) * 2


def numbers(tensor):
    return tensor.detach().double().flatten().tolist()


def gradient(y, x):
    return grad(y.sum(), x, create_graph=True)[0]


def record_model(name):
    model = make(name)
    points = points_of(name, 6, 40)
    # Values in float, as the model gives them; derivatives in double.
    record = {"output": numbers(model(points))}
    model = model.double()
    x = points.double().requires_grad_()
    u = model(x)
    jacobian = torch.stack([gradient(u[:, j], x) for j in range(u.shape[1])], 1)
    first = jacobian[:, 0]
    hessian = torch.stack([gradient(first[:, i], x)[:, i]
                           for i in range(x.shape[1])], 1)
    record["jacobian"] = numbers(jacobian)
    record["hessian_diagonal"] = numbers(hessian)
    record["laplacian"] = numbers(hessian.sum(1))
    # Differentiated again, by the weights.
    loss = hessian.sum(1).square().mean()
    by_weights = grad(loss, list(model.parameters()), allow_unused=True)
    record["laplacian_by_weights"] = [
        numbers(g) if g is not None else None for g in by_weights]
    return record


def residual(name, u, x):
    """The equations of pinn_test.cc, by hand."""
    first = gradient(u[:, 0], x)
    second = [gradient(first[:, i], x) for i in range(x.shape[1])]
    v, t, s = u[:, 0], x[:, 0], x[:, 1]
    if name == "burgers":
        return first[:, 0] + v * first[:, 1] - 0.01 / math.pi * second[1][:, 1]
    if name == "heat":
        return first[:, 0] - 0.3 * second[1][:, 1] - torch.sin(math.pi * s) * t
    if name == "poisson":
        return second[0][:, 0] + second[1][:, 1] - torch.exp(-s * s)
    if name == "advection":
        return first[:, 0] + (1 + s) * first[:, 1]
    if name == "wave":
        return second[0][:, 0] - 4 * second[1][:, 1]
    if name == "mixed":
        third = gradient(second[1][:, 1], x)
        return second[0][:, 1] * v + third[:, 1] - third[:, 0]
    raise ValueError(name)


def record_residual(name):
    model = make("tanh").double()
    x = points_of("tanh", 12, 41).double().requires_grad_()
    r = residual(name, model(x), x)
    loss = r.square().mean()
    return {"residual": numbers(r), "loss": loss.item(),
            "gradients": [numbers(g) if g is not None else None for g in
                          grad(loss, list(model.parameters()),
                               allow_unused=True)]}


def source_of(t, x):
    return torch.sin(math.pi * x) * t


# Losses of equations by name: the job, and the residual from the unknown, its
# first derivatives, its second ones [of which][by which], and t, x.
NAMED = [
    ({"type": "BurgersResidual", "viscosity": "0.01/pi"},
     lambda u, d, dd, t, x: d[0] + u * d[1] - 0.01 / math.pi * dd[1][1]),
    ({"type": "HeatResidual", "diffusivity": 0.3, "source": "sin(pi*x)*t"},
     lambda u, d, dd, t, x: d[0] - 0.3 * dd[1][1] - source_of(t, x)),
    ({"type": "PoissonResidual", "coordinates": ["t", "x"],
      "source": "exp(-x^2)"},
     lambda u, d, dd, t, x: dd[0][0] + dd[1][1] - torch.exp(-x * x)),
    ({"type": "AdvectionResidual", "velocity": "1 + x"},
     lambda u, d, dd, t, x: d[0] + (1 + x) * d[1]),
    ({"type": "WaveResidual", "speed": 2.0},
     lambda u, d, dd, t, x: dd[0][0] - 4 * dd[1][1]),
    ({"type": "BurgersResidual", "viscosity": "0.01/pi", "causal_epsilon": 0.7,
      "causal_slices": 4, "causal_range": [-1.0, 1.0]},
     lambda u, d, dd, t, x: d[0] + u * d[1] - 0.01 / math.pi * dd[1][1]),
]


def causal_loss(squares, t, epsilon, slices):
    """Wang, Sankaran, Perdikaris 2022: the losses of slices of time, each with
    exp(-epsilon * those before it); here a mean over points, not slices."""
    place = ((t + 1) / 2 * slices).floor().clamp(0, slices - 1).long()
    of_slices = torch.stack([squares[place == i].mean() if (place == i).any()
                             else squares.new_zeros(()) for i in range(slices)])
    before = torch.tril(torch.ones(slices, slices, dtype=torch.double), -1)
    weights = torch.exp(-epsilon * before @ of_slices.detach())
    return (weights[place] * squares).mean()


def record_named(job, equation):
    model = make("tanh").double()
    x = points_of("tanh", 12, 41).double().requires_grad_()
    u = model(x)[:, 0]
    first = gradient(u, x)
    second = [gradient(first[:, i], x).unbind(1) for i in range(2)]
    squares = equation(u, first.unbind(1), second, x[:, 0], x[:, 1]).square()
    epsilon = job.get("causal_epsilon")
    loss = squares.mean() if epsilon is None else causal_loss(
        squares, x[:, 0].detach(), epsilon, job["causal_slices"])
    return {"job": {**job, "points": "input"}, "loss": loss.item(),
            "gradients": [numbers(g) if g is not None else None for g in
                          grad(loss, list(model.parameters()),
                               allow_unused=True)]}


def main():
    sobol = torch.quasirandom.SobolEngine(5)
    values = {
        "sobol": [[int(v) for v in row] for row in
                  (sobol.draw(40, dtype=torch.double) * 2**30).tolist()],
        "models": {name: record_model(name) for name in MODELS},
        "residuals": {name: record_residual(name) for name in
                      ["burgers", "heat", "poisson", "advection", "wave",
                       "mixed"]},
        "named": [record_named(*each) for each in NAMED],
    }
    path = FOLDER / "pinn.json"
    path.write_text(json.dumps(values, separators=(",", ":"))
                    .replace('},"', '},\n"') + "\n")
    print(path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
