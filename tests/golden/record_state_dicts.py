#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records state dicts that Python saves and what their models then compute, in
state_dicts.json and models/*.safetensors; for models that record_models.py does
not have.

Needs torch 2.11.0, torchvision 0.26.0, safetensors 0.8.0, Pillow 13.0.0, numpy,
and a folder with basicsr/archs/{edsr_arch,arch_util}.py and
basicsr/utils/registry.py of XPixelGroup/BasicSR at 8d56e3a0:

    python tests/golden/record_state_dicts.py FOLDER

A ResNet's file has 45 to 100 MB: recorded is its SHA-256, and the test makes the
same file by the rule of fill.py.
"""

import hashlib
import json
import pathlib
import sys
import types

import numpy
import safetensors.torch
import torch
import torchvision
from PIL import Image
from torch import nn

from fill import fill
from record import Discriminator, Generator, fill_model
from record_pinn import MODELS, PinnMLP
from recording import part_of

sys.path.insert(0, sys.argv[1])
sys.modules["basicsr.ops"] = types.ModuleType("basicsr.ops")
sys.modules["basicsr.ops.dcn"] = types.ModuleType("basicsr.ops.dcn")
sys.modules["basicsr.ops.dcn"].ModulatedDeformConvPack = nn.Module
sys.modules["basicsr.ops.dcn"].modulated_deform_conv = None
logging = types.ModuleType("basicsr.utils")
logging.__path__ = [f"{sys.argv[1]}/basicsr/utils"]
logging.get_root_logger = None
sys.modules["basicsr.utils"] = logging
EDSR = part_of("basicsr.archs.edsr_arch").EDSR
FOLDER = pathlib.Path(__file__).parent


class Sequence(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x.flatten(1))


class PillowBicubic(nn.Module):
    """Has no state. Pillow's enlargement of floats, cut off at [0, 1]."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        height, width = (side * self.scale for side in x.shape[2:])
        planes = [numpy.asarray(Image.fromarray(plane.numpy()).resize(
            (width, height), Image.Resampling.BICUBIC))
            for plane in x.flatten(0, 1)]
        return torch.from_numpy(numpy.stack(planes)).view(
            *x.shape[:2], height, width).clamp(0, 1)


def small_resnet():
    """torchvision's, with the stem that is usual for CIFAR."""
    model = torchvision.models.resnet18(num_classes=10)
    model.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    model.maxpool = nn.Identity()
    return model


IMAGES = [2, 3, 48, 48]
CASES = {
    **{f"resnet{depth}": (
        {"type": "ResNet", "depth": depth, "num_classes": 10},
        lambda depth=depth: getattr(torchvision.models, f"resnet{depth}")(
            num_classes=10), IMAGES) for depth in (18, 34, 50)},
    "resnet18_small": (
        {"type": "ResNet", "num_classes": 10, "small_image_stem": True},
        small_resnet, [2, 3, 16, 16]),
    **{f"dc_generator_{size}": (
        {"type": "DcGenerator", "latent": 6, "channels": 2, "size": size,
         "width": 4}, lambda size=size: Generator(6, 2, size, 4), [3, 6])
       for size in (8, 32)},
    **{f"dc_discriminator_{size}": (
        {"type": "DcDiscriminator", "channels": 2, "size": size, "width": 4},
        lambda size=size: Discriminator(2, size, 4), [3, 2, size, size])
       for size in (8, 32)},
    "mlp": ({"type": "MLP", "in_features": 12, "hidden": [7, 5],
             "out_features": 3, "activation": "gelu", "dropout": 0.25},
            lambda: Sequence(nn.Linear(12, 7), nn.GELU(), nn.Dropout(0.25),
                             nn.Linear(7, 5), nn.GELU(), nn.Dropout(0.25),
                             nn.Linear(5, 3)), [4, 3, 4]),
    "pinn_mlp": ({"type": "PinnMLP", "in_features": 3, "hidden": [8, 6],
                  "out_features": 2, "activation": "tanh",
                  "periods": [0, 2.0, 0], "lower": [-2, -2, -2],
                  "upper": [3, 3, 3], "fourier_features": 4,
                  "fourier_trainable": True, "weight_factorization": True},
                 lambda: PinnMLP(**MODELS["all"]), [6, 3]),
    **{f"bicubic_x{scale}": (
        {"type": "Bicubic", "upscale": scale},
        lambda scale=scale: PillowBicubic(scale), [1, 2, 5, 6])
       for scale in (2, 3)},
    "edsr_x8": ({"type": "EDSR", "num_in_ch": 3, "num_out_ch": 3,
                 "num_feat": 4, "num_block": 1, "upscale": 8},
                lambda: EDSR(3, 3, num_feat=4, num_block=1, upscale=8),
                [1, 3, 4, 3]),
}


def record(name, job, make, shape):
    model = make().eval()
    fill_model(model)
    with torch.no_grad():
        for name_of, tensor in model.named_buffers():
            if name_of.endswith("num_batches_tracked"):
                tensor.fill_(0)
        output = model(fill(shape, 30) * 2)
    case = {"job": job, "input": shape, "output": [
        float(f"{v:.9g}") for v in output.double().flatten()[:400]]}
    data = safetensors.torch.save(
        {k: v.contiguous() for k, v in model.state_dict().items()})
    if len(data) < 100_000:
        path = FOLDER / "models" / f"{name}.safetensors"
        path.write_bytes(data)
        return case
    return {**case, "sha256": hashlib.sha256(data).hexdigest()}


def main():
    torch.manual_seed(0)
    cases = {name: record(name, *rest) for name, rest in CASES.items()}
    path = FOLDER / "state_dicts.json"
    path.write_text(json.dumps(cases, separators=(",", ":"))
                    .replace('},"', '},\n"') + "\n")
    print(path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
