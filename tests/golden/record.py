#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what Python PyTorch computes, for the tests beside this file.

Needs torch 2.11.0, torchvision 0.26.0, numpy and safetensors; writes the
.json and .safetensors files of this folder. Run it again only to add cases:

    python tests/golden/record.py

Doubles in JSON are written so that they read back bit for bit. Big tensors
are not recorded: both sides fill them by the rule of fill().
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

FOLDER = pathlib.Path(__file__).parent


def fill(shape, stream):
    """Gives values in [-0.5, 0.5) that depend on (stream, index) alone."""
    count = math.prod(shape)
    mask = numpy.uint64(0xFFFFFFFF)
    h = numpy.arange(1, count + 1, dtype=numpy.uint64)
    h = (h * numpy.uint64(2654435761) + numpy.uint64(stream * 40503)) & mask
    h ^= h >> numpy.uint64(16)
    h = (h * numpy.uint64(0x85EBCA6B)) & mask
    h ^= h >> numpy.uint64(13)
    h = (h * numpy.uint64(0xC2B2AE35)) & mask
    h ^= h >> numpy.uint64(16)
    values = h.astype(numpy.float64) / 4294967296.0 - 0.5
    return torch.from_numpy(values.reshape(shape)).to(torch.float32)


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


# ---- a loss curve ------------------------------------------------------------


class Mlp(nn.Module):
    def __init__(self, in_features, hidden, out_features):
        super().__init__()
        layers = []
        for width in hidden:
            layers += [nn.Linear(in_features, width), nn.ReLU()]
            in_features = width
        layers += [nn.Linear(in_features, out_features)]
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "sgd_nesterov": lambda p: torch.optim.SGD(
        p, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True),
    "sgd_dampening": lambda p: torch.optim.SGD(
        p, lr=0.05, momentum=0.8, dampening=0.3),
    "adam": lambda p: torch.optim.Adam(
        p, lr=3e-3, betas=(0.5, 0.999), weight_decay=1e-2),
    "adamw": lambda p: torch.optim.AdamW(p, lr=3e-3, weight_decay=0.01),
    "adamw_amsgrad": lambda p: torch.optim.AdamW(p, lr=3e-3, amsgrad=True),
}


def record_loss_curves():
    torch.manual_seed(7)
    model = Mlp(16, [32, 16], 10)
    initial = {k: v.clone() for k, v in model.state_dict().items()}
    safetensors.torch.save_file(initial, FOLDER / "mlp.safetensors")
    inputs = fill((160, 16), 1) * 4
    targets = ((fill((160,), 2) + 0.5) * 10).to(torch.int64)
    curves = {}
    for name, make in OPTIMIZERS.items():
        model.load_state_dict(initial)
        optimizer = make(model.parameters())
        losses = []
        for step in range(50):
            rows = slice(step * 32 % 160, step * 32 % 160 + 32)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs[rows]), targets[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        curves[name] = {"losses": losses,
                        "weights": sums(model.named_parameters())}
    write("loss_curves", curves)


# ---- schedulers --------------------------------------------------------------


def record_schedulers():
    scheduler = torch.optim.lr_scheduler
    metrics = [
        2.0 / (1 + 0.1 * epoch) + 0.05 * value if epoch < 80
        else (math.nan if epoch == 150 else 0.25 + 0.001 * value)
        for epoch, value in enumerate(numbers(fill((200,), 3)))
    ]
    cases = {
        "step": lambda o: scheduler.StepLR(o, 7, 0.7),
        "multi_step": lambda o: scheduler.MultiStepLR(
            o, [5, 30, 30, 120], 0.3),
        "exponential": lambda o: scheduler.ExponentialLR(o, 0.97),
        "constant": lambda o: scheduler.ConstantLR(o, 1 / 3, 5),
        "cosine": lambda o: scheduler.CosineAnnealingLR(o, 30),
        "cosine_eta_min": lambda o: scheduler.CosineAnnealingLR(o, 23, 1e-4),
        "cosine_one": lambda o: scheduler.CosineAnnealingLR(o, 1, 0.01),
        "plateau": lambda o: scheduler.ReduceLROnPlateau(
            o, patience=3, factor=0.5),
        "plateau_max": lambda o: scheduler.ReduceLROnPlateau(
            o, mode="max", patience=5, factor=0.7, threshold=0.01,
            threshold_mode="abs", cooldown=4, min_lr=1e-3),
        "plateau_max_rel": lambda o: scheduler.ReduceLROnPlateau(
            o, mode="max", patience=2, cooldown=1, eps=1e-4),
        "plateau_min_abs": lambda o: scheduler.ReduceLROnPlateau(
            o, patience=0, factor=0.9, threshold=0.02, threshold_mode="abs"),
    }
    rates = {}
    for name, make in cases.items():
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
        schedule = make(optimizer)
        optimizer.step()
        rates[name] = [optimizer.param_groups[0]["lr"]]
        for metric in metrics:
            schedule.step(*([metric] if "plateau" in name else []))
            rates[name].append(optimizer.param_groups[0]["lr"])
    write("schedulers",
          {"metrics": ["NaN" if math.isnan(m) else m for m in metrics],
           "rates": rates})


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
    record_loss_curves()
    record_schedulers()
    record_losses()
    record_resnets()
    record_gans()
