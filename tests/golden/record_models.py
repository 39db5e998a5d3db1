#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records small models of the Python packages that ours are named after:
models.json and models/*.safetensors, each a state dict as Python saves it;
and an archive of TorchScript.

Needs torch 2.11.0, torchvision 0.26.0, torch_ecg 0.0.33, numpy, safetensors,
and a folder with files of packages that cannot be installed beside these:

    basicsr/archs/{edsr,srresnet,rrdbnet,discriminator}_arch.py, arch_util.py
    and basicsr/utils/registry.py   XPixelGroup/BasicSR at 8d56e3a0
    unet.py      mateuszbuda/brain-segmentation-pytorch at d45f8908
    networks.py  models/networks.py of junyanz/pytorch-CycleGAN-and-pix2pix

    python tests/golden/record_models.py FOLDER
"""

import copy
import functools
import json
import math
import pathlib
import sys
import types

import safetensors.torch
import torch
import torchvision
from torch import nn

from fill import fill

FOLDER = pathlib.Path(__file__).parent
ORIGINALS = sys.argv[1]


def stub(name, path=None, **values):
    """Puts a module in place of one whose imports cannot be satisfied."""
    module = types.ModuleType(name)
    if path:
        module.__path__ = [str(path)]
    for key, value in values.items():
        setattr(module, key, value)
    sys.modules[name] = module


def import_originals():
    sys.path.insert(0, ORIGINALS)
    stub("basicsr", f"{ORIGINALS}/basicsr")
    stub("basicsr.archs", f"{ORIGINALS}/basicsr/archs")
    stub("basicsr.utils", f"{ORIGINALS}/basicsr/utils", get_root_logger=None)
    stub("basicsr.ops")
    stub("basicsr.ops.dcn", ModulatedDeformConvPack=nn.Module,
         modulated_deform_conv=None)
    # Its __init__ wants packages that read and filter signals.
    import importlib.util
    stub("torch_ecg", importlib.util.find_spec("torch_ecg")
         .submodule_search_locations[0])
    import torch_ecg.components  # noqa: F401 (resolves a circular import)


class ResNet1d(torchvision.models.ResNet):
    """torchvision's ResNet of basic blocks, narrow, its layers made 1-D."""

    def __init__(self, in_channels, num_classes, blocks, width, kernel,
                 stem_kernel):
        nn.Module.__init__(self)
        block = torchvision.models.resnet.BasicBlock
        self._norm_layer = nn.BatchNorm2d
        self.inplanes, self.dilation, self.groups = width, 1, 1
        self.base_width = 64
        self.conv1 = nn.Conv2d(in_channels, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool1d(3, 2, 1)
        for i, n in enumerate(blocks):
            setattr(self, f"layer{i + 1}",
                    self._make_layer(block, width << i, n, 1 if i == 0 else 2))
        self.avgpool = nn.AdaptiveAvgPool1d(1)
        self.fc = nn.Linear(width << (len(blocks) - 1), num_classes)
        for parent in list(self.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, nn.Conv2d):
                    size = child.kernel_size[0]
                    if size > 1:
                        size = stem_kernel if parent is self else kernel
                    setattr(parent, name, nn.Conv1d(
                        child.in_channels, child.out_channels, size,
                        child.stride[0], size // 2, bias=False))
                elif isinstance(child, nn.BatchNorm2d):
                    setattr(parent, name, nn.BatchNorm1d(child.num_features))


def make_patch_gan(input_nc, ndf, n_layers, norm):
    from networks import NLayerDiscriminator, init_weights
    layer = {
        "batch": functools.partial(nn.BatchNorm2d, affine=True,
                                   track_running_stats=True),
        "instance": functools.partial(nn.InstanceNorm2d, affine=False,
                                      track_running_stats=False),
        "none": lambda channels: nn.Identity(),
    }[norm]
    model = NLayerDiscriminator(input_nc, ndf, n_layers, layer)
    init_weights(model, "normal", 0.02)
    return model


def make_ecg(n_leads, num_classes, width, kernel, subsample, hidden_sizes,
             attn, reduction, global_pool, hidden, dropout):
    from torch_ecg.model_configs.ecg_crnn import ECG_CRNN_CONFIG
    from torch_ecg.models.ecg_crnn import ECG_CRNN
    config = copy.deepcopy(ECG_CRNN_CONFIG)
    config.cnn.name = "resnet_nature_comm"
    cnn = config.cnn.resnet_nature_comm
    cnn.stem.num_filters = width
    cnn.stem.filter_lengths = cnn.filter_lengths = kernel
    cnn.subsample_lengths = [subsample] * 4
    cnn.num_filters = [width * i for i in (2, 3, 4, 5)]
    cnn.dropouts = config.rnn.lstm.dropouts = config.clf.dropouts = dropout
    config.rnn.name = "lstm" if hidden_sizes else "none"
    config.rnn.lstm.hidden_sizes = hidden_sizes
    config.attn.name = attn
    config.attn.se.reduction = reduction
    config.global_pool = global_pool
    config.clf.out_channels = hidden
    return ECG_CRNN([str(i) for i in range(num_classes)], n_leads, config)


def cases():
    from basicsr.archs import (discriminator_arch, edsr_arch, rrdbnet_arch,
                               srresnet_arch)
    from unet import UNet

    image = (1, 3, 5, 4)
    for scale in (2, 3, 4):
        job = {"type": "EDSR", "num_in_ch": 3, "num_out_ch": 3, "num_feat": 4,
               "num_block": 2, "upscale": scale, "res_scale": 0.5}
        yield f"edsr_x{scale}", job, edsr_arch.EDSR, image
        job = {"type": "MSRResNet", "num_in_ch": 3, "num_out_ch": 3,
               "num_feat": 4, "num_block": 2, "upscale": scale}
        yield f"srresnet_x{scale}", job, srresnet_arch.MSRResNet, image
    for scale, shape in ((1, (1, 3, 8, 8)), (2, (1, 3, 6, 6)),
                         (4, (1, 3, 4, 4))):
        job = {"type": "RRDBNet", "num_in_ch": 3, "num_out_ch": 3,
               "scale": scale, "num_feat": 4, "num_block": 1,
               "num_grow_ch": 2}
        yield f"rrdbnet_x{scale}", job, rrdbnet_arch.RRDBNet, shape
    yield ("unet", {"type": "UNet", "in_channels": 3, "out_channels": 2,
                    "init_features": 1}, UNet, (2, 3, 16, 32))
    for norm in ("batch", "instance", "none"):
        job = {"type": "NLayerDiscriminator", "input_nc": 3, "ndf": 2,
               "n_layers": 3 if norm == "batch" else 2, "norm": norm}
        yield f"patch_gan_{norm}", job, make_patch_gan, (2, 3, 32, 32)
    yield ("vgg_discriminator",
           {"type": "VGGStyleDiscriminator", "num_in_ch": 3, "num_feat": 1,
            "input_size": 128},
           discriminator_arch.VGGStyleDiscriminator, (2, 3, 128, 128))
    for skip in (True, False):
        yield (f"unet_discriminator_{'skip' if skip else 'plain'}",
               {"type": "UNetDiscriminatorSN", "num_in_ch": 3, "num_feat": 1,
                "skip_connection": skip},
               discriminator_arch.UNetDiscriminatorSN, (1, 3, 16, 24))
    yield ("vit", {"type": "VisionTransformer", "image_size": 12,
                   "patch_size": 4, "num_layers": 2, "num_heads": 2,
                   "hidden_dim": 8, "mlp_dim": 12, "num_classes": 5},
           torchvision.models.VisionTransformer, (2, 3, 12, 12))
    yield ("resnet1d", {"type": "ResNet1d", "in_channels": 3, "num_classes": 4,
                        "blocks": [1, 2, 1, 1], "width": 3, "kernel": 5,
                        "stem_kernel": 9}, ResNet1d, (2, 3, 131))
    ecg = {"type": "ECG_CRNN", "n_leads": 3, "num_classes": 4, "width": 3,
           "kernel": 5, "subsample": 3, "hidden_sizes": [4, 3], "attn": "se",
           "reduction": 3, "global_pool": "max", "hidden": [6], "dropout": 0.0}
    yield "ecg_crnn", ecg, make_ecg, (2, 3, 301)
    yield ("ecg_cnn", {**ecg, "hidden_sizes": [], "attn": "none",
                       "subsample": 2, "global_pool": "avg"},
           make_ecg, (2, 3, 151))


def fill_model(model):
    """Fills parameters, then buffers, each from a stream of its own."""
    stream = 2000
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        stream += 1
        if name.endswith("num_batches_tracked"):
            tensor.fill_(3)
            continue
        values = fill(tuple(tensor.shape), stream)
        if tensor.dim() > 1:
            values *= math.sqrt(24.0 / tensor[0].numel())
        elif name.endswith("running_var") or name.endswith("weight"):
            values = values * 0.5 + 1.0
        elif name.endswith(("weight_u", "weight_v")):
            values = values / values.norm()
        with torch.no_grad():
            tensor.copy_(values)


def numbers(tensor):
    return [float(f"{v:.8g}") for v in tensor.detach().double().flatten()]


def sums(tensors):
    """Gives sum and sum of squares of each tensor, in double."""
    return {name: numbers(torch.stack([t.detach().double().sum(),
                                       t.detach().double().square().sum()]))
            for name, t in tensors}


def record(name, job, make, shape):
    arguments = {k: v for k, v in job.items() if k != "type"}
    torch.manual_seed(7)
    model = make(**arguments)
    # ResNet1d's layers are drawn before they are replaced.
    seeded = None if make is ResNet1d else sums(model.named_parameters())
    fill_model(model)
    if name == "unet":
        # A sigmoid of great values hides differences.
        with torch.no_grad():
            model.conv.weight *= 0.1
    safetensors.torch.save_file(
        {k: v.contiguous() for k, v in model.state_dict().items()},
        FOLDER / "models" / f"{name}.safetensors")
    x = fill(shape, 30) + 0.5
    model.eval()
    with torch.no_grad():
        evaluated = model(x)
    model.train()
    trained = model(x)
    trained.square().mean().backward()
    case = {"job": job, "input": list(shape),
            "buffers": [n for n, _ in model.named_buffers()],
            "shape": list(evaluated.shape),
            "evaluated": numbers(evaluated),
            "trained": sums([("output", trained)]),
            "gradients": sums((n, p.grad)
                              for n, p in model.named_parameters()),
            "updated": sums((n, b) for n, b in model.named_buffers()
                            if not n.endswith("num_batches_tracked"))}
    if seeded:
        case["seeded"] = seeded
    return case


class Scripted(nn.Module):
    """What an archive may hold: layers, a branch, a dictionary."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4),
                                 nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor, age: torch.Tensor):
        features = self.net(x).mean((2, 3))
        if features.size(0) > 1:
            features = features + age
        return {"logits": self.head(features), "features": features}


def record_script():
    """An archive that torch.jit.save writes, and what it computes."""
    torch.manual_seed(7)
    model = Scripted()
    fill_model(model)
    torch.jit.save(torch.jit.script(model), FOLDER / "models" / "script.pt")
    x, age = fill((2, 3, 5, 6), 30), fill((2, 1), 31)
    model.eval()
    result = model(x, age)
    gradient = torch.autograd.grad(result["logits"].square().mean(),
                                   model.net[0].weight)[0]
    (FOLDER / "models" / "script.json").write_text(json.dumps({
        "parameters": [n for n, _ in model.named_parameters()],
        "buffers": [n for n, _ in model.named_buffers()],
        "logits": numbers(result["logits"]),
        "features": numbers(result["features"]),
        "gradient": numbers(gradient)}) + "\n")


def main():
    import_originals()
    (FOLDER / "models").mkdir(exist_ok=True)
    record_script()
    recorded = {name: record(name, *rest) for name, *rest in cases()}
    text = json.dumps(recorded, separators=(",", ":"))
    (FOLDER / "models.json").write_text(
        text.replace('},"', '},\n"') + "\n")


main()
