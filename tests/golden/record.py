#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what Python PyTorch computes, for the tests beside this file.

Needs torch 2.11.0, torchvision 0.26.0, numpy and safetensors; writes the
.json files of this folder, but for those of record_optimization.py. Run it
again only to add cases:

    python tests/golden/record.py

Doubles in JSON are written so that they read back bit for bit. Big tensors
are not recorded: both sides fill them by the rule of fill.py.
"""

import json
import math
import pathlib

import numpy
import safetensors.torch
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

from fill import fill

FOLDER = pathlib.Path(__file__).parent


def fill_model(model):
    """Fills parameters, then buffers, each from a stream of its own."""
    stream = 1000
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        stream += 1
        if name.endswith("num_batches_tracked"):
            continue
        values = fill(tuple(tensor.shape), stream)
        if tensor.dim() > 1:
            fan_in = tensor[0].numel()
            values = values * numpy.float32(math.sqrt(24.0 / fan_in))
        elif name.endswith("running_var") or name.endswith("weight"):
            values = values * 0.5 + 1.0
        else:
            values = values * 0.25
        with torch.no_grad():
            tensor.copy_(values)


def numbers(tensor):
    return tensor.detach().to(torch.float64).flatten().tolist()


def sums(tensors):
    """Gives sum and sum of squares of each tensor, in double."""
    return {
        name: [t.detach().double().sum().item(),
               t.detach().double().square().sum().item()]
        for name, t in tensors
    }


def write(name, value):
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(value, indent=None, separators=(",", ":"))
                    .replace('},"', '},\n"') + "\n")


# ---- losses and metrics ------------------------------------------------------


def record_losses():
    def case(loss, *leaves):
        gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
        return {"loss": loss.item(),
                "gradients": [numbers(g) if g is not None else None
                              for g in gradients]}

    scores = (fill((6, 5), 10) * 8).requires_grad_()
    classes = torch.tensor([0, 4, 2, 2, 1, 3])
    probabilities = torch.softmax(fill((6, 5), 11) * 4, 1)
    image = (fill((3, 2, 4, 4), 12) * 2).requires_grad_()
    other = fill((3, 2, 4, 4), 13) * 2
    binary = (fill((6, 5), 14) > 0).float()
    real = (fill((8,), 15) * 6).requires_grad_()
    fake = (fill((8,), 16) * 6 - 1).requires_grad_()
    class_weights = torch.tensor([0.5, 1.0, 2.0, 1.5, 0.25])

    def bce(x, y):
        return F.binary_cross_entropy_with_logits(x, torch.full_like(x, y))

    frozen = real.detach()
    write("losses", {
        "probabilities": numbers(probabilities),
        "cross_entropy": case(F.cross_entropy(scores, classes), scores),
        "cross_entropy_smooth": case(
            F.cross_entropy(scores, classes, weight=class_weights,
                            label_smoothing=0.1, ignore_index=1), scores),
        "cross_entropy_probabilities": case(
            F.cross_entropy(scores, probabilities), scores),
        "mse": case(F.mse_loss(image, other), image),
        "l1": case(F.l1_loss(image, other), image),
        "bce": case(F.binary_cross_entropy_with_logits(scores, binary),
                    scores),
        "bce_pos_weight": case(F.binary_cross_entropy_with_logits(
            scores, binary, pos_weight=class_weights), scores),
        "ragan_d": case((bce(real - fake.mean(), 1.0)
                         + bce(fake - real.mean(), 0.0)) / 2, real, fake),
        "ragan_g": case((bce(frozen - fake.mean(), 0.0)
                         + bce(fake - frozen.mean(), 1.0)) / 2, fake),
        "psnr": (10 * torch.log10(
            4.0 / (image - other).double().square().mean((1, 2, 3)))
        ).mean().item(),
    })


# ---- models ------------------------------------------------------------------


def record_resnets():
    cases = {}
    for name, make in [("18", torchvision.models.resnet18),
                       ("34", torchvision.models.resnet34),
                       ("50", torchvision.models.resnet50)]:
        torch.manual_seed(3)
        model = make(num_classes=10)
        seeded = sums([(n, t) for n, t in model.named_parameters()])
        fill_model(model)
        images = fill((4, 3, 64, 64), 20) * 2
        model.eval()
        with torch.no_grad():
            evaluated = numbers(model(images))
        case = {
            "parameters": [n for n, _ in model.named_parameters()],
            "buffers": [n for n, _ in model.named_buffers()],
            "seeded": seeded,
            "evaluated": evaluated,
        }
        if name != "34":
            model.train()
            loss = F.cross_entropy(model(images), torch.tensor([1, 3, 5, 7]))
            loss.backward()
            case["loss"] = loss.item()
            case["running_mean"] = sums([("bn1", model.bn1.running_mean)])
            case["gradients"] = {
                n: math.sqrt(p.grad.double().square().sum().item())
                for n, p in model.named_parameters()
                if n in ("conv1.weight", "layer3.0.downsample.0.weight",
                         "fc.weight")
            }
        cases[name] = case
    write("resnets", cases)


class Generator(nn.Module):
    def __init__(self, latent, channels, size, width):
        super().__init__()
        c = width * size // 8
        layers = [nn.ConvTranspose2d(latent, c, 4, 1, 0, bias=False)]
        side = 4
        while side < size:
            out = channels if side * 2 == size else c // 2
            layers += [nn.BatchNorm2d(c), nn.ReLU(),
                       nn.ConvTranspose2d(c, out, 4, 2, 1, bias=False)]
            c, side = out, side * 2
        self.main = nn.Sequential(*layers, nn.Tanh())

    def forward(self, noise):
        return self.main(noise[:, :, None, None])


class Discriminator(nn.Module):
    def __init__(self, channels, size, width):
        super().__init__()
        layers = [nn.Conv2d(channels, width, 4, 2, 1, bias=False),
                  nn.LeakyReLU(0.2)]
        side = size // 2
        while side > 4:
            layers += [nn.Conv2d(width, width * 2, 4, 2, 1, bias=False),
                       nn.BatchNorm2d(width * 2), nn.LeakyReLU(0.2)]
            width, side = width * 2, side // 2
        self.main = nn.Sequential(
            *layers, nn.Conv2d(width, 1, 4, 1, 0, bias=False))

    def forward(self, images):
        return self.main(images).flatten()


def initialize(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


def record_gans():
    cases = {}
    for size in (8, 32):
        torch.manual_seed(5)
        generator = Generator(6, 2, size, 8).apply(initialize)
        discriminator = Discriminator(2, size, 8).apply(initialize)
        case = {"seeded": [sums(generator.named_parameters()),
                           sums(discriminator.named_parameters())]}
        fill_model(generator)
        fill_model(discriminator)
        fakes = generator(fill((5, 6), 30) * 3)
        scores = discriminator(fakes)
        scores.sum().backward()
        case["fakes"] = numbers(fakes[0, 0])
        case["scores"] = numbers(scores)
        case["gradients"] = sums(
            (n, p.grad) for n, p in generator.named_parameters())
        cases[str(size)] = case
    write("gans", cases)


if __name__ == "__main__":
    torch.set_num_threads(1)
    record_losses()
    record_resnets()
    record_gans()
