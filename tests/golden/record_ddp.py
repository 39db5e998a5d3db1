#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what torch.distributed's gradient compression gives on two ranks.

Needs torch 2.11.0, numpy and safetensors; writes ddp.safetensors and ddp.json
beside this file:

    python tests/golden/record_ddp.py

Gradients of rank r in step s are fill(shape, 1000 r + 10 s + i) of fill.py
for parameter i. PowerSGD's state is recorded after its first compressed step:
both sides go on from it, since the first factors are random.
"""

import json
import os
import pathlib
import sys

import safetensors.torch
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import (
    default_hooks,
    powerSGD_hook,
)
from torch.nn.parallel import DistributedDataParallel

from fill import fill

FOLDER = pathlib.Path(__file__).parent
SHAPES = [(12, 10), (12,), (9, 8)]
STEPS = 7
START = 3
SAVED = START + 1  # steps done when PowerSGD's state is taken


class Linear(nn.Module):
    """Its gradients are what it is told."""

    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList(
            [nn.Parameter(torch.zeros(shape)) for shape in SHAPES]
        )

    def forward(self, gradients):
        total = 0
        for weight, gradient in zip(self.weights, gradients):
            total = total + (weight * gradient).sum()
        return total


def run(rank, port, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    tensors = {}
    orders = {}
    for name in ("none", "fp16", "bf16", "powersgd1", "powersgd3"):
        model = DistributedDataParallel(Linear())
        state = None
        if name == "fp16":
            model._register_builtin_comm_hook(
                dist.BuiltinCommHookType.FP16_COMPRESS
            )
        elif name == "bf16":
            model.register_comm_hook(None, default_hooks.bf16_compress_hook)
        elif name.startswith("powersgd"):
            state = powerSGD_hook.PowerSGDState(
                None,
                matrix_approximation_rank=int(name[-1]),
                start_powerSGD_iter=START,
                min_compression_rate=1,
            )

            def hook(hook_state, bucket):
                orders[name] = [
                    [tuple(p.shape) for p in SHAPES_OF].index(tuple(g.shape))
                    for g in bucket.gradients()
                ]
                return powerSGD_hook.powerSGD_hook(hook_state, bucket)

            SHAPES_OF = list(model.module.weights)
            model.register_comm_hook(state, hook)
        for step in range(STEPS):
            model.zero_grad(set_to_none=True)
            model(
                [
                    fill(shape, 1000 * rank + 10 * step + i)
                    for i, shape in enumerate(SHAPES)
                ]
            ).backward()
            for i, weight in enumerate(model.module.weights):
                tensors[f"{name}.{step}.{i}"] = weight.grad.clone()
            if state is not None and step + 1 == SAVED:
                tensors[f"{name}.error"] = state.error_dict[0].clone()
                tensors[f"{name}.p"] = state.p_memory_dict[0].clone()
                tensors[f"{name}.q"] = state.q_memory_dict[0].clone()
    gathered = [None, None]
    dist.all_gather_object(gathered, tensors)
    if rank == 0:
        kept = {k: v for k, v in gathered[0].items() if not k.endswith(".error")}
        for r in range(2):
            for key, value in gathered[r].items():
                if key.endswith(".error"):
                    kept[f"{key}.{r}"] = value
        safetensors.torch.save_file(kept, out / "ddp.safetensors")
        (out / "ddp.json").write_text(
            json.dumps(
                {
                    "torch": torch.__version__,
                    "shapes": SHAPES,
                    "steps": STEPS,
                    "start": START,
                    "saved": SAVED,
                    "orders": orders,
                },
                indent=1,
            )
            + "\n"
        )
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    mp.spawn(run, args=(29517, FOLDER), nprocs=2)
    sys.exit(0)
