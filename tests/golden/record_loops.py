#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what SR-Forge's and MMEngine's loops do with given batches.

Needs srforge 0.16.2, mmengine 0.10.7 and torch 2.11.0; writes loops.json for
loops_test.cc:

    python tests/golden/record_loops.py

gan_steps     which sides each batch trained, for StepRatio x DWarmup
accumulation  weights after each batch, for both rules of what is left over
clipping      the same with a GradScaler, clipped; one batch overflows

A linear model of three weights, filled by stream 0, learns sums of squares
from batches of SIZES: inputs are filled by stream 10 + batch, targets by
20 + batch. All is computed in float32 on a CPU: SR-Forge asks for autocast of
"cuda", which is then off, and MMEngine's AmpOptimWrapper is told that there is
a GPU.
"""

import functools
import itertools
import json
import os
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["OMP_NUM_THREADS"] = "1"

import torch  # noqa: E402
from mmengine.logging import MessageHub  # noqa: E402
from mmengine.optim import AmpOptimWrapper, OptimWrapper  # noqa: E402
from mmengine.optim.optimizer import amp_optimizer_wrapper  # noqa: E402
from srforge.data import Entry  # noqa: E402
from srforge.training.hooks import (DWarmup, GradientClip,  # noqa: E402
                                    StepRatio)
from srforge.training.runners import TrainingEpochRunner  # noqa: E402
from torch import nn  # noqa: E402

from fill import fill  # noqa: E402
from recording import digits  # noqa: E402
from srforge_models import (Loader, SquaredError, gan,  # noqa: E402
                            linear, random_batches)

FOLDER = pathlib.Path(__file__).parent
SIZES = (4, 4, 3, 4, 2, 4, 1)
EPOCHS = 2
GAN_BATCHES = 10
RATIOS = (0.5, 1.0, 1.5, 2.0, 3.0)
WARMUPS = (0, 1, 4, 10, 13)
SCALER = {"init_scale": 1024.0, "growth_interval": 3}
# Its loss is more than a float holds.
OVERFLOWING = 2


def gan_steps(hooks):
    torch.manual_seed(0)
    model, runner = gan(hooks)
    seen = []

    def after(context):
        seen.append(("D" if context.run_d else "") +
                    ("G" if context.run_g else ""))

    runner.on_post_step.register(after)
    batches = random_batches([2] * GAN_BATCHES)
    for epoch in range(EPOCHS):
        runner.run_epoch(model, Loader(batches), epoch,
                         criterion=SquaredError())
    return " ".join(seen)


def record_gans():
    return [{"ratio": ratio, "warmup": warmup,
             "steps": gan_steps([StepRatio(ratio), DWarmup(warmup)])}
            for ratio, warmup in itertools.product(RATIOS, WARMUPS)]


def batch(index, overflows=False):
    x = fill((SIZES[index], 3), 10 + index)
    return (x * 1e30 if overflows else x * 4,
            fill((SIZES[index], 1), 20 + index))


def batches(overflowing=None):
    return [batch(i, i == overflowing) for i in range(len(SIZES))]


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=.05, momentum=.9)


def srforge_weights(accumulation, clip=None):
    """Weights, and scales, after each batch."""
    net = linear()
    runner = TrainingEpochRunner(
        sgd(net.parameters()), gradient_accumulation_steps=accumulation,
        detect_anomaly=False, check_losses="off",
        precision="fp16" if clip else "fp32",
        hooks=[GradientClip(clip)] if clip else [])
    if clip:
        runner.scaler = torch.amp.GradScaler("cpu", **SCALER)
    weights, scales = [], []

    def after(context):
        weights.append(digits(net.layer.weight))
        if clip:
            scales.append(runner.scaler.get_scale())

    runner.on_post_step.register(after)
    entries = [Entry(x=x, y=y)
               for x, y in batches(OVERFLOWING if clip else None)]
    for epoch in range(EPOCHS):
        runner.run_epoch(net, Loader(entries), epoch,
                         criterion=SquaredError().set_io(
                             {"inputs": {"p": "p", "y": "y"}}))
    return {"weights": weights, "scales": scales} if clip else weights


def mmengine_weights(accumulation, clip=None):
    layer = nn.Linear(3, 1, bias=False)
    with torch.no_grad():
        layer.weight.copy_(fill((1, 3), 0))
    optimizer = sgd(layer.parameters())
    if clip:
        wrapper = AmpOptimWrapper(
            loss_scale=dict(SCALER), optimizer=optimizer, clip_grad=clip,
            accumulative_counts=accumulation)
    else:
        wrapper = OptimWrapper(optimizer, accumulative_counts=accumulation)
    wrapper.initialize_count_status(layer, 0, EPOCHS * len(SIZES))
    weights, scales = [], []
    for _ in range(EPOCHS):
        for x, y in batches(OVERFLOWING if clip else None):
            wrapper.update_params(((layer(x) - y)**2).mean())
            weights.append(digits(layer.weight))
            if clip:
                scales.append(wrapper.loss_scaler.get_scale())
    return {"weights": weights, "scales": scales} if clip else weights


def record_accumulation():
    return [{"accumulation": count, "srforge": srforge_weights(count),
             "mmengine": mmengine_weights(count)} for count in range(1, 6)]


def record_clipping():
    cases = []
    for count in (1, 2, 3):
        for norm in (0.1, 2.0, 1e9):
            cases.append({"system": "srforge", "accumulation": count,
                          "clip": {"max_norm": norm},
                          **srforge_weights(count, norm)})
        for clip in ({"max_norm": 0.5}, {"max_norm": 0.5, "norm_type": 1},
                     {"max_norm": 0.5, "norm_type": "inf"},
                     {"type": "value", "clip_value": 0.2}):
            theirs = {key: float(value) if value == "inf" else value
                      for key, value in clip.items()}
            ours = {("max_value" if key == "clip_value" else key): value
                    for key, value in clip.items() if key != "type"}
            cases.append({"system": "mmengine", "accumulation": count,
                          "clip": ours, **mmengine_weights(count, theirs)})
    return cases


def main():
    amp_optimizer_wrapper.is_cuda_available = lambda: True
    amp_optimizer_wrapper.GradScaler = functools.partial(
        torch.amp.GradScaler, "cpu")
    MessageHub.get_instance("record")
    out, sys.stdout = sys.stdout, open(os.devnull, "w")
    try:
        recorded = {"gan_steps": record_gans(),
                    "accumulation": record_accumulation(),
                    "clipping": record_clipping()}
    finally:
        sys.stdout = out
    (FOLDER / "loops.json").write_text(
        "{" + ",\n".join(
            f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in cases) +
            "]" for name, cases in recorded.items()) + "}\n")


if __name__ == "__main__":
    main()
