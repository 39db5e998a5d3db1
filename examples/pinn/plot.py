#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the picture of docs/examples/burgers.md from a checkpoint's weights.

    plot.py MODEL.safetensors burgers.png

Needs numpy, matplotlib and safetensors. The network is evaluated here, in
numpy: scaled coordinates, then layers net.0, net.2, ... with tanh between.
"""

import sys

import matplotlib
import numpy
from safetensors.numpy import load_file

from record_reference import burgers

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def network(weights, t, x):
    values = numpy.stack([t, x], -1).astype(numpy.float32)
    values = (values - weights["input_shift"]) * weights["input_scale"]
    layers = sorted(int(name.split(".")[1]) for name in weights
                    if name.startswith("net.") and name.endswith("weight"))
    for layer in layers:
        values = (values @ weights[f"net.{layer}.weight"].T
                  + weights[f"net.{layer}.bias"])
        if layer != layers[-1]:
            values = numpy.tanh(values)
    return values[..., 0]


def main(file, picture):
    weights = load_file(file)
    t, x = numpy.meshgrid(numpy.linspace(0, 1, 101),
                          numpy.linspace(-1, 1, 257), indexing="ij")
    truth, mine = burgers(t, x), network(weights, t, x)
    error = mine - truth
    relative = numpy.linalg.norm(error) / numpy.linalg.norm(truth)
    print(f"relative L2 error {relative:.4f}, greatest {abs(error).max():.3f}")
    figure, axes = pyplot.subplots(1, 4, figsize=(13, 2.8),
                                   constrained_layout=True)
    limit = numpy.quantile(abs(error), 0.999)
    for axis, title, values, shown in (
            (axes[0], "network", mine, 1), (axes[1], "reference", truth, 1),
            (axes[2], "difference", error, limit)):
        image = axis.imshow(values.T, extent=(0, 1, -1, 1), aspect="auto",
                            origin="lower", cmap="RdBu_r", vmin=-shown,
                            vmax=shown)
        axis.set(title=title, xlabel="t")
        figure.colorbar(image, ax=axis)
    axes[0].set_ylabel("x")
    for time, color in ((0.25, "C0"), (0.5, "C1"), (0.75, "C2"), (1.0, "C3")):
        row = round(time * 100)
        axes[3].plot(x[row], truth[row], color=color, label=f"t = {time:g}")
        axes[3].plot(x[row], mine[row], "k:", linewidth=1)
    axes[3].set(title="u(t, x); dots: network", xlabel="x")
    axes[3].legend(fontsize=7)
    figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    main(*sys.argv[1:])
