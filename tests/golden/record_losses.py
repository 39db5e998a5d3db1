#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records values and gradients of losses, in double.

Needs torch 2.11.0, torchvision 0.26.0, torchmetrics 1.9.0, numpy, the files of
torch-ecg 0.0.33 and srforge 0.16.2 (no more of these than is named here is
imported), and a folder with basicsr/losses/{gan_loss,loss_util}.py and
basicsr/utils/registry.py of XPixelGroup/BasicSR at 8d56e3a0:

    python tests/golden/record_losses.py FOLDER

Writes loss_cases.json of this folder; each case has the loss as a job file
names it, the fields of its batch, and what the package gives: {"job", "fields",
"value", "gradients": {field: numbers}}.
"""

import json
import math
import pathlib
import sys

import torch
from torch.nn import functional as F
from torchmetrics.functional import image as metrics
from torchvision.ops import sigmoid_focal_loss

from recording import digits, field, part_of, tensor_of

sys.path.insert(0, sys.argv[1])
GANLoss = part_of("basicsr.losses.gan_loss", "basicsr.utils").GANLoss
ecg = part_of("torch_ecg.models.loss", "torch_ecg.components")
CASES = {}


def case(name, job, fields, loss, wrt=("output",), sums=False):
    """`loss` takes the fields' tensors by name."""
    tensors = {key: tensor_of(value) for key, value in fields.items()}
    leaves = [tensors[key].requires_grad_() for key in wrt]
    value = loss(**tensors)
    gradients = torch.autograd.grad(value, leaves, allow_unused=True)
    recorded = {}
    for key, gradient in zip(wrt, gradients):
        if gradient is None:
            recorded[key] = None
        elif sums:
            recorded[key] = {"sum": gradient.sum().item(),
                             "squares": gradient.square().sum().item()}
        else:
            recorded[key] = digits(gradient)
    assert name not in CASES, name
    CASES[name] = {"job": job, "fields": fields, "value": value.item(),
                   "gradients": recorded}


def masked_mean(elements, weights):
    weights = weights.expand_as(elements)
    return (elements * weights).sum() / weights.sum()


# ---- differences -------------------------------------------------------------

ODD = (3, 2, 5, 7)
pair = {"output": field(ODD, 30, 3.0), "target": field(ODD, 31, 3.0)}
srforge_regression = part_of("srforge.metrics.regression")

for name, job, each in [
        ("mse", {"type": "MSELoss"}, F.mse_loss),
        ("l1", {"type": "L1Loss"}, F.l1_loss),
        ("huber", {"type": "HuberLoss", "delta": 0.4},
         lambda o, t, reduction="mean": F.huber_loss(o, t, delta=0.4,
                                                     reduction=reduction)),
        ("smooth_l1", {"type": "SmoothL1Loss", "beta": 0.3},
         lambda o, t, reduction="mean": F.smooth_l1_loss(o, t, beta=0.3,
                                                         reduction=reduction)),
        ("smooth_l1_beta_0", {"type": "SmoothL1Loss", "beta": 0},
         lambda o, t, reduction="mean": F.smooth_l1_loss(o, t, beta=0.0,
                                                         reduction=reduction))]:
    case(name, job, pair, lambda output, target: each(output, target))
    case(name + "_sum", {**job, "reduction": "sum"}, pair,
         lambda output, target: each(output, target, reduction="sum"))
    case(name + "_batchmean", {**job, "reduction": "batchmean"}, pair,
         lambda output, target: each(output, target, reduction="sum") / 3)
    case(name + "_masked",
         {**job, "mask": "mask", "sample_weight": "weight"},
         {**pair, "mask": field((3, 5, 7), 32, above=-0.2),
          "weight": field((3,), 33, 1.0, 1.0)},
         lambda output, target, mask, weight: masked_mean(
             each(output, target, reduction="none"),
             mask[:, None] * weight[:, None, None, None]))
case("l1_one_element", {"type": "L1"},
     {"output": field((1,), 30), "target": field((1,), 31)},
     lambda output, target: F.l1_loss(output, target))
case("mse_no_dimension", {"type": "MSE"},
     {"output": field((), 30), "target": field((), 31)},
     lambda output, target: F.mse_loss(output, target))
charbonnier = srforge_regression.Charbonnier(epsilon=0.02)
case("charbonnier_srforge", {"type": "Charbonnier", "epsilon": 0.02}, pair,
     lambda output, target: charbonnier.pointwise(output, target).mean())
case("charbonnier_masked", {"type": "CharbonnierLoss", "eps": 0.02,
                            "mask": "mask"},
     {**pair, "mask": field((3, 1, 5, 7), 32, above=0.1)},
     lambda output, target, mask: masked_mean(
         charbonnier.pointwise(output, target), mask))

# ---- labels ------------------------------------------------------------------

SCORES = field((6, 5), 10, 8.0)
LABELS = field((6, 5), 14, above=0.0)
SOFT = field((6, 5), 15, 0.9, 0.5)
PROBABILITIES = field((6, 5), 16, 0.98, 0.5)
WEIGHTS = [0.5, 1.0, 2.0, 1.5, 0.25]
weights = torch.tensor(WEIGHTS, dtype=torch.float64)
labels = {"output": SCORES, "target": LABELS}
soft = {"output": SCORES, "target": SOFT}

case("bce_with_logits_weights",
     {"type": "BCEWithLogitsLoss", "pos_weight": WEIGHTS}, soft,
     lambda output, target: F.binary_cross_entropy_with_logits(
         output, target, pos_weight=weights))
case("bce_with_logits_class_weight",
     {"type": "BCEWithLogitsWithClassWeightLoss", "class_weight": WEIGHTS},
     labels,
     lambda output, target: ecg.BCEWithLogitsWithClassWeightLoss(
         weights[None])(output, target))
# torch_ecg divides by the number of elements, not by the sum of weights.
segments = {"output": field((3, 7, 2), 17, 6.0),
            "target": field((3, 7, 2), 18, above=0.1)}
case("bce_with_logits_masked",
     {"type": "MaskedBCEWithLogitsLoss", "weight_mask": "weight"},
     {**segments, "weight": field((3, 7, 1), 19, 1.0, 1.0)},
     lambda output, target, weight: ecg.MaskedBCEWithLogitsLoss()(
         output, target, weight) / weight.mean())
case("bce", {"type": "BCELoss"},
     {"output": PROBABILITIES, "target": SOFT},
     lambda output, target: F.binary_cross_entropy(output, target))
case("bce_at_the_ends", {"type": "BCELoss"},
     {"output": field((4,), 16, 0.5, 0.5, set={0: 0.0, 1: 1.0}),
      "target": field((4,), 16, above=2, set={0: 0.0, 1: 1.0})},
     lambda output, target: F.binary_cross_entropy(output, target))
case("bce_weighted", {"type": "WeightedBCELoss", "pos_weight": WEIGHTS,
                      "class_weights": WEIGHTS[::-1]},
     {"output": PROBABILITIES, "target": LABELS},
     lambda output, target: ecg.WeightedBCELoss(
         weights, weights.flip(0)[None])(output, target))

case("focal_torchvision", {"type": "sigmoid_focal_loss", "alpha": 0.25}, labels,
     lambda output, target: sigmoid_focal_loss(output, target,
                                               reduction="mean"))
case("focal_torchvision_soft", {"type": "Focal", "alpha": 0.7, "gamma": 1.5,
                                "reduction": "sum"}, soft,
     lambda output, target: sigmoid_focal_loss(
         output, target, alpha=0.7, gamma=1.5, reduction="sum"))
case("focal_gamma_half", {"type": "Focal", "gamma": 0.5}, labels,
     lambda output, target: sigmoid_focal_loss(
         output, target, alpha=-1, gamma=0.5, reduction="mean"))
case("focal_torch_ecg", {"type": "FocalLoss"}, labels,
     lambda output, target: ecg.FocalLoss()(output, target))
case("focal_torch_ecg_class_weight",
     {"type": "FocalLoss", "gamma": 3, "class_weight": WEIGHTS}, labels,
     lambda output, target: ecg.FocalLoss(
         gamma=3.0, class_weight=weights[None])(output, target))
case("focal_masked", {"type": "Focal", "mask": "mask"},
     {**labels, "mask": field((6, 5), 20, above=0.2)},
     lambda output, target, mask: masked_mean(sigmoid_focal_loss(
         output, target, alpha=-1, reduction="none"), mask))

for name, job, options in [
        ("asymmetric", {"type": "AsymmetricLoss"}, {}),
        ("asymmetric_sum", {"type": "ASL", "reduction": "sum", "gamma_neg": 2,
                            "gamma_pos": 0, "clip": 0},
         {"reduction": "sum", "gamma_neg": 2, "gamma_pos": 0,
          "prob_margin": 0.0}),
        ("asymmetric_detached", {"type": "Asymmetric", "prob_margin": 0.2,
                                 "disable_torch_grad_focal_loss": True},
         {"prob_margin": 0.2, "disable_torch_grad_focal_loss": True})]:
    case(name, job, labels, lambda output, target: ecg.AsymmetricLoss(
        **options)(output, target))
case("asymmetric_soft", {"type": "Asymmetric"}, soft,
     lambda output, target: ecg.AsymmetricLoss()(output, target))
case("asymmetric_no_focus", {"type": "Asymmetric", "gamma_neg": 0,
                             "gamma_pos": 0}, labels,
     lambda output, target: ecg.AsymmetricLoss(0, 0)(output, target))

# ---- classes -----------------------------------------------------------------

CLASSES = field((6,), 21, classes=5)
IGNORING = field((6,), 21, classes=5, set={1: -100, 4: -100})
PIXELS = {"output": field((2, 4, 3, 5), 22, 6.0),
          "target": field((2, 3, 5), 23, classes=4, set={2: 255, 9: 255})}
MIXED = field((6, 5), 24, 4.0, softmax=1)

case("cross_entropy_ignoring", {"type": "CrossEntropy"},
     {"output": SCORES, "target": IGNORING},
     lambda output, target: F.cross_entropy(output, target))
case("cross_entropy_pixels",
     {"type": "CrossEntropy", "ignore_index": 255, "label_smoothing": 0.1,
      "class_weights": WEIGHTS[:4]}, PIXELS,
     lambda output, target: F.cross_entropy(
         output, target, weight=weights[:4], ignore_index=255,
         label_smoothing=0.1))
case("cross_entropy_sum",
     {"type": "CrossEntropy", "reduction": "sum", "label_smoothing": 0.2},
     {"output": SCORES, "target": IGNORING},
     lambda output, target: F.cross_entropy(output, target, reduction="sum",
                                            label_smoothing=0.2))
case("cross_entropy_probabilities_weighted",
     {"type": "CrossEntropy", "class_weights": WEIGHTS,
      "label_smoothing": 0.1}, {"output": SCORES, "target": MIXED},
     lambda output, target: F.cross_entropy(output, target, weight=weights,
                                            label_smoothing=0.1))


def weighed_entropy(output, target, by_sample, by_class=None, ignore=-100):
    """A mean over what counts: class weight by sample weight."""
    elements = F.cross_entropy(output, target, weight=by_class,
                               reduction="none", ignore_index=ignore)
    counts = (target != ignore).double()
    if by_class is not None:
        counts = counts * by_class[target.masked_fill(target == ignore, 0)]
    return (elements * by_sample).sum() / (counts * by_sample).sum()


case("cross_entropy_sample_weights",
     {"type": "CrossEntropy", "class_weights": WEIGHTS,
      "sample_weight": "weight"},
     {"output": SCORES, "target": IGNORING,
      "weight": field((6,), 25, 1.0, 1.0)},
     lambda output, target, weight: weighed_entropy(output, target, weight,
                                                    weights))
case("cross_entropy_masked_pixels",
     {"type": "CrossEntropy", "ignore_index": 255, "mask": "mask"},
     {**PIXELS, "mask": field((2, 3, 5), 26, above=-0.1)},
     lambda output, target, mask: weighed_entropy(output, target, mask,
                                                  ignore=255))
case("class_focal", {"type": "ClassFocal", "gamma": 1.5},
     {"output": SCORES, "target": CLASSES},
     lambda output, target: ecg.FocalLoss(
         gamma=1.5, class_weight=torch.ones(5).double(), multi_label=False)(
             output, target))


def class_focal(output, target, gamma, by_class, ignore):
    """Weights of classes outside of the focus (torch_ecg has them inside)."""
    entropy = F.cross_entropy(output, target, reduction="none",
                              ignore_index=ignore)
    counts = target != ignore
    factor = by_class[target.masked_fill(~counts, 0)]
    elements = (1 - torch.exp(-entropy)) ** gamma * entropy * factor
    return elements.sum() / counts.sum()


case("class_focal_weights",
     {"type": "ClassFocalLoss", "class_weights": WEIGHTS[:4],
      "ignore_index": 255}, PIXELS,
     lambda output, target: class_focal(output, target, 2.0, weights[:4], 255))
case("class_focal_probabilities", {"type": "ClassFocal"},
     {"output": SCORES, "target": MIXED},
     lambda output, target: (
         target * -F.log_softmax(output, 1)
         * (1 - F.softmax(output, 1)) ** 2).sum(1).mean())

# ---- images ------------------------------------------------------------------

IMAGES = {"output": field((2, 3, 15, 13), 40, 0.6, 0.5),
          "target": field((2, 3, 15, 13), 41, 0.6, 0.5)}
# Images that are alike, so that contrasts are not below 0 and are cut.
SMALL = {"output": field((2, 1, 21, 23), 42, 0.8, 0.5),
         "target": field((2, 1, 21, 23), 42, 0.6, 0.4)}
FIVE = {"output": field((2, 1, 180, 176), 43, 0.8, 0.5),
        "target": field((2, 1, 180, 176), 43, 0.5, 0.45)}
srforge_image = part_of("srforge.metrics.image")


def ssim(output, target, **options):
    return metrics.structural_similarity_index_measure(output, target,
                                                       **options)


def inside(output, target, margin=5, **options):
    _, full = ssim(output, target, return_full_image=True, **options)
    return full[..., margin:-margin, margin:-margin].mean()


case("ssim_reflect", {"type": "SSIM", "padding": "reflect"}, IMAGES,
     lambda output, target: 1 - ssim(output, target, data_range=1.0))
case("ssim", {"type": "SSIM", "data_range": 2.0}, IMAGES,
     lambda output, target: 1 - inside(output, target, data_range=2.0))
case("ssim_uniform", {"type": "SSIM", "padding": "reflect", "sigma": 0,
                      "window": 5, "k1": 0.02, "k2": 0.05}, IMAGES,
     lambda output, target: 1 - ssim(output, target, data_range=1.0,
                                     gaussian_kernel=False, kernel_size=5,
                                     k1=0.02, k2=0.05))


class Double(srforge_image.SSIM):
    """Its window in double."""

    @staticmethod
    def create_window(window_size, channel):
        line = torch.tensor([math.exp(-(x - window_size // 2) ** 2 / 4.5)
                             for x in range(window_size)],
                            dtype=torch.float64)
        line = line / line.sum()
        return (line[:, None] * line[None]).expand(
            channel, 1, window_size, window_size).contiguous()


case("ssim_zero", {"type": "SSIM", "padding": "zero"}, IMAGES,
     lambda output, target: 1 - Double().calculate_score(output,
                                                         target).mean())
case("ssim_mask", {"type": "SSIM", "padding": "zero", "mask": "mask",
                   "window": 3},
     {"output": field((1, 3, 15, 13), 40, 0.6, 0.5),
      "target": field((1, 3, 15, 13), 41, 0.6, 0.5),
      "mask": field((1, 1, 15, 13), 44, above=-0.4)},
     lambda output, target, mask: 1 - Double(window_size=3).calculate_score(
         output, target, mask).mean())
case("ms_ssim", {"type": "MSSSIM", "padding": "reflect", "sigma": 0.5,
                 "window": 5, "betas": [0.3, 0.3, 0.4]}, SMALL,
     lambda output, target: 1 -
     metrics.multiscale_structural_similarity_index_measure(
         output, target, data_range=1.0, sigma=0.5, kernel_size=5,
         betas=(0.3, 0.3, 0.4)))
case("ms_ssim_five", {"type": "MultiScaleSSIM", "padding": "reflect"}, FIVE,
     lambda output, target: 1 -
     metrics.multiscale_structural_similarity_index_measure(
         output, target, data_range=1.0), sums=True)
case("l1_ssim", {"type": "L1SSIM", "alpha": 0.6}, IMAGES,
     lambda output, target: 0.6 * (1 - inside(output, target, data_range=1.0))
     + 0.4 * F.l1_loss(output, target))
case("l1_ms_ssim", {"type": "L1SSIM", "alpha": 0.7, "multi_scale": True,
                    "padding": "reflect", "sigma": 0.5, "window": 5,
                    "betas": [0.3, 0.3, 0.4]}, SMALL,
     lambda output, target: 0.7 * (
         1 - metrics.multiscale_structural_similarity_index_measure(
             output, target, data_range=1.0, sigma=0.5, kernel_size=5,
             betas=(0.3, 0.3, 0.4))) + 0.3 * F.l1_loss(output, target))
case("total_variation", {"type": "TotalVariation"},
     {"output": field((2, 3, 5, 4), 45)},
     lambda output: (output.diff(dim=2).abs().mean()
                     + output.diff(dim=3).abs().mean()))
# torchmetrics and SR-Forge add up over channels; here it is a mean.
case("total_variation_torchmetrics", {"type": "TVLoss", "weight": 1.0},
     {"output": field((2, 3, 5, 5), 45)},
     lambda output: metrics.total_variation(output, reduction="mean")
     / (3 * 4 * 5))
case("total_variation_signal", {"type": "TotalVariation", "mask": "mask"},
     {"output": field((2, 3, 9), 46),
      "mask": field((2, 1, 9), 47, above=-0.3)},
     lambda output, mask: masked_mean(output.diff(dim=2).abs(),
                                      mask[..., 1:] * mask[..., :-1]))
isotropic = srforge_image.TotalVariation(eps=0.0)


def isotropic_tv(x):
    """SR-Forge's formula, which computes in float, in double; its epsilon is
    added outside of the root."""
    dx = x[..., :-1, 1:] - x[..., :-1, :-1]
    dy = x[..., 1:, :-1] - x[..., :-1, :-1]
    ours = torch.hypot(dx, dy).mean()
    theirs = isotropic.calculate_score(x.detach()).mean() / x.shape[1]
    assert abs(ours.item() - theirs.item()) < 1e-6
    return ours


case("total_variation_isotropic", {"type": "TotalVariation",
                                   "isotropic": True, "epsilon": 1e-9},
     {"output": field((2, 3, 5, 4), 45)},
     lambda output: isotropic_tv(output))
mge = srforge_image.MGE(eps=1e-4)
mge.weight_h, mge.weight_v = mge.weight_h.double(), mge.weight_v.double()
sized = {"output": field((2, 3, 6, 7), 48), "target": field((2, 3, 6, 7), 49)}
case("gradient_srforge", {"type": "Gradient", "magnitude": True,
                          "squared": True, "epsilon": 1e-2}, sized,
     lambda output, target: mge.calculate_score(output, target).mean())
case("gradient_srforge_mask", {"type": "Gradient", "magnitude": True,
                               "squared": True, "epsilon": 1e-2,
                               "mask": "mask"},
     {"output": field((1, 3, 6, 7), 48), "target": field((1, 3, 6, 7), 49),
      "mask": field((1, 1, 6, 7), 50, above=-0.42)},
     lambda output, target, mask: mge.calculate_score(output, target,
                                                      mask).mean())
case("gradient_differences", {"type": "GradientLoss", "filter": "difference"},
     sized,
     lambda output, target: sum(
         F.l1_loss(output.diff(dim=d), target.diff(dim=d)) for d in (2, 3)))


def sobel(x):
    kernel = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]).double()
    x = F.pad(x.flatten(0, 1)[:, None], (1, 1, 1, 1), mode="reflect")
    return [F.conv2d(x, k[None, None]) for k in (kernel, kernel.T)]


case("gradient_sobel", {"type": "EdgeLoss"}, sized,
     lambda output, target: sum(F.l1_loss(a, b) for a, b in
                                zip(sobel(output), sobel(target))))

# ---- GANs --------------------------------------------------------------------

SIDES = {"score_real": field((4, 1, 3), 51, 6.0),
         "score_fake": field((4, 1, 3), 52, 6.0, -0.5)}
adversarial = part_of("srforge.metrics.adversarial")
BOTH = ("score_real", "score_fake")


def gan(name, job, loss):
    """And with weights of samples: 0, 1 or 2 of each."""
    case(name, job, SIDES, lambda score_real, score_fake: loss(
        score_real, score_fake), wrt=BOTH)
    case(name + "_weighed", {**job, "sample_weight": "weight"},
         {**SIDES, "weight": field((4,), 55, classes=3)},
         lambda score_real, score_fake, weight: loss(
             score_real.repeat_interleave(weight, 0),
             score_fake.repeat_interleave(weight, 0)), wrt=BOTH)


def bce(x, y):
    return F.binary_cross_entropy_with_logits(x, torch.full_like(x, y))


gan("gan_d", {"type": "GANDiscriminatorLoss"},
    lambda r, f: adversarial.GANDiscriminatorLoss().calculate_score(
        r, f).mean())
gan("gan_g", {"type": "GANGeneratorLoss"},
    lambda r, f: adversarial.GANGeneratorLoss().calculate_score(f).mean())
gan("gan_d_smooth", {"type": "GanDiscriminatorLoss", "real_label": 0.9,
                     "fake_label": 0.1},
    lambda r, f: (bce(r, 0.9) + bce(f, 0.1)) / 2)
# BasicSR gives the discriminator's two halves one by one; those of LSGAN and of
# the original GAN are added up here with a half each, as in its CycleGAN.
for kind, share in (("vanilla", 0.5), ("lsgan", 0.5), ("hinge", 1),
                    ("wgan", 1)):
    known = {"vanilla": "Gan", "lsgan": "LsGan", "hinge": "HingeGan",
             "wgan": "WGan"}[kind]
    theirs = GANLoss(kind)
    gan(f"{kind}_d", {"type": f"{known}DiscriminatorLoss"},
        lambda r, f: share * (theirs(r, True, is_disc=True)
                              + theirs(f, False, is_disc=True)))
    gan(f"{kind}_g", {"type": f"{known}GeneratorLoss"},
        lambda r, f: theirs(f, True))
gan("ragan_g", {"type": "RaGANGeneratorLoss"},
    lambda r, f: (bce(r.detach() - f.mean(), 0.0)
                  + bce(f - r.detach().mean(), 1.0)) / 2)
gan("ragan_d_srforge", {"type": "RaGANDiscriminatorLoss"},
    lambda r, f: adversarial.RaGANDiscriminatorLoss().calculate_score(
        r, f).mean())

path = pathlib.Path(__file__).parent / "loss_cases.json"
path.write_text("{" + ",\n".join(
    f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}"
    for name, value in CASES.items()) + "}\n")
print(len(CASES), "cases,", path.stat().st_size, "bytes")
