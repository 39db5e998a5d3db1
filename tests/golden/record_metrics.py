#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records values of metrics, in double.

Needs torch 2.11.0, torchmetrics 1.9.0, scikit-learn 1.9.1, scikit-image 0.26.0,
torch-ecg 0.0.33 and numpy. Writes metric_cases.json of this folder: {"job",
"batches": a list of fields, "values": {name: number or null for NaN}[, "table":
rows]} for each case. Where two packages have the metric, both are asked and
must agree.
"""

import json
import math
import pathlib
import warnings

import numpy
import skimage.metrics
import sklearn.metrics
import torch
from torch.nn import functional as F
from torch_ecg.databases.physionet_databases.cinc2021 import (
    compute_challenge_metric)
from torchmetrics.functional import classification as tm
from torchmetrics.functional import image as tm_image
from torchmetrics.functional import regression as tm_regression

from recording import field, tensor_of

warnings.filterwarnings("ignore")
CASES = {}


def case(name, job, batches, values, table=None):
    """`values`, and `table` if there is one, take the batches' tensors joined, by name of the field."""
    tensors = [{k: tensor_of(v) for k, v in batch.items()}
               for batch in batches]
    joined = {k: torch.cat([t[k] for t in tensors]) for k in tensors[0]}
    given = values(**joined)
    if not isinstance(given, dict):
        given = {job.get("name", None): given}
    assert name not in CASES, name
    CASES[name] = {"job": job, "batches": batches, "values": {
        key: None if math.isnan(float(value)) else float(value)
        for key, value in given.items()}}
    if table is not None:
        CASES[name]["table"] = table(**joined).tolist()


def same(*values, tolerance=1e-9):
    for value in values[1:]:
        assert abs(float(value) - float(values[0])) < tolerance, values
    return float(values[0])


# ---- classes -----------------------------------------------------------------

# The last class is never true, and class 3 is never predicted.
CLASSES = [{"output": field((n, 6), 60 + n, 6.0,
                            set={i * 6 + 3: -9.0 for i in range(n)}),
            "target": field((n,), 70 + n, classes=5)} for n in (23, 9)]
IGNORING = [{**CLASSES[0], "target": field((23,), 93, classes=5,
                                           set={0: 255, 7: 255})}]
PIXELS = [{"output": field((2, 4, 3, 5), 80, 6.0),
           "target": field((2, 3, 5), 81, classes=4, set={2: -100, 9: -100})}]

SKLEARN = {
    "precision": sklearn.metrics.precision_score,
    "recall": sklearn.metrics.recall_score,
    "f1": sklearn.metrics.f1_score,
    "iou": sklearn.metrics.jaccard_score,
}
TORCH = {
    "precision": tm.multiclass_precision, "recall": tm.multiclass_recall,
    "f1": tm.multiclass_f1_score, "specificity": tm.multiclass_specificity,
}
COMPONENT = {"precision": "Precision", "recall": "Sensitivity",
             "f1": "F1Score", "specificity": "Specificity", "iou": "IoU"}


def of_classes(metric, average, output, target, ignore=None, **options):
    classes = output.shape[1]
    values = []
    if metric in TORCH:
        values.append(TORCH[metric](output, target, classes, average=average,
                                    ignore_index=ignore, **options))
    if metric in SKLEARN:
        predicted = output.argmax(1)
        counts = target != (ignore if ignore is not None else -100)
        values.append(SKLEARN[metric](
            target[counts].numpy(), predicted[counts].numpy(), average=average,
            zero_division=0))
    return same(*values, tolerance=1e-6)


for metric, component in COMPONENT.items():
    for average in ("macro", "micro", "weighted"):
        if metric in SKLEARN:
            exact = SKLEARN[metric]
            values = lambda output, target: {
                metric: exact(target.numpy(), output.argmax(1).numpy(),
                              average=average, zero_division=0)}
        else:
            values = lambda output, target: {
                metric: TORCH[metric](output, target, 6, average=average)}
        if metric in TORCH and metric in SKLEARN:
            joined = {k: torch.cat([tensor_of(b[k]) for b in CLASSES])
                      for k in ("output", "target")}
            of_classes(metric, average, **joined)
        case(f"{metric}_{average}", {"type": component, "average": average},
             CLASSES, values)
case("f1_per_class", {"type": "F1", "per_class": True,
                      "classes": ["a", "b", "c", "d", "e", "f"]}, CLASSES,
     lambda output, target: {
         "f1": sklearn.metrics.f1_score(target, output.argmax(1),
                                        average="macro"),
         **{f"f1/{name}": value for name, value in zip(
             "abcdef", sklearn.metrics.f1_score(
                 target, output.argmax(1), average=None, labels=range(6),
                 zero_division=0))}})
case("fbeta", {"type": "FBeta", "beta": 2, "name": "f2"}, CLASSES,
     lambda output, target: sklearn.metrics.fbeta_score(
         target, output.argmax(1), beta=2, average="macro", zero_division=0))
case("recall_ignoring", {"type": "Recall", "ignore_index": 255}, IGNORING,
     lambda output, target: {"recall": sklearn.metrics.recall_score(
         target[target != 255], output.argmax(1)[target != 255],
         average="macro", zero_division=0)})
case("f1_pixels", {"type": "F1", "average": "weighted"}, PIXELS,
     lambda output, target: {"f1": sklearn.metrics.f1_score(
         target[target >= 0], output.argmax(1)[target >= 0],
         average="weighted", zero_division=0)})
case("accuracy_ignoring", {"type": "Accuracy", "ignore_index": 255}, IGNORING,
     lambda output, target: {"accuracy": tm.multiclass_accuracy(
         output, target, 6, average="micro", ignore_index=255).double()})
case("top2", {"type": "TopK", "k": 2}, CLASSES,
     lambda output, target: {"top2_accuracy":
                             sklearn.metrics.top_k_accuracy_score(
                                 target, output, k=2, labels=range(6))})
case("one_class", {"type": "F1"},
     [{"output": field((4, 3), 82, 0.1, set={0: 5, 3: 5, 6: 5, 9: 5}),
       "target": field((4,), 83, classes=1)}],
     lambda output, target: {"f1": sklearn.metrics.f1_score(
         target, output.argmax(1), average="macro")})

# ---- labels ------------------------------------------------------------------

# Label 3 is never true; scores have ties.
LABELS = [{"output": field((n, 4), 84 + n, 5.0, steps=2),
           "target": field((n, 4), 94 + n, above=0.1,
                           set={i * 4 + 3: 0 for i in range(n)})}
          for n in (17, 12)]
PROBABILITIES = [{"output": field((21, 4), 130, 1.0, 0.5),
                  "target": field((21, 4), 131, above=-0.1)}]
BINARY = [{"output": field((25,), 132, 4.0, steps=3),
           "target": field((25,), 133, above=0.0)}]

for metric, component in COMPONENT.items():
    for average in ("macro", "micro", "weighted"):
        if metric in SKLEARN:
            values = lambda output, target: {metric: SKLEARN[metric](
                target, (torch.sigmoid(output) >= 0.5).int(), average=average,
                zero_division=0)}
        else:
            # torchmetrics has "above the threshold" where ours is "at least".
            values = lambda output, target: {
                metric: tm.multilabel_specificity(
                    (torch.sigmoid(output) >= 0.5).double() * 0.8,
                    target.int(), 4, average=average)}
        case(f"{metric}_labels_{average}",
             {"type": component, "average": average}, LABELS, values)
case("f1_labels_threshold", {"type": "F1", "threshold": 0.3,
                             "from_logits": False}, PROBABILITIES,
     lambda output, target: {"f1": same(
         sklearn.metrics.f1_score(target, output >= 0.3, average="macro"),
         tm.multilabel_f1_score(output, target.int(), 4, threshold=0.3),
         tolerance=1e-6)})
case("label_accuracy", {"type": "LabelAccuracy", "average": "micro"}, LABELS,
     lambda output, target: {"label_accuracy": tm.multilabel_accuracy(
         (output >= 0).double() * 0.8, target.int(), 4,
         average="micro").double()})
case("label_accuracy_macro", {"type": "LabelAccuracy", "average": "macro"},
     LABELS,
     lambda output, target: {"label_accuracy": tm.multilabel_accuracy(
         (output >= 0).double() * 0.8, target.int(), 4,
         average="macro").double()})
for name, component, exact in [
        ("precision", "Precision", sklearn.metrics.precision_score),
        ("recall", "Recall", sklearn.metrics.recall_score),
        ("f1", "F1", sklearn.metrics.f1_score)]:
    case(name + "_binary", {"type": component, "task": "binary"}, BINARY,
         lambda output, target: {name: exact(target, (output >= 0).int())})

# ---- tables ------------------------------------------------------------------


def of_labels(output, target):
    """torchmetrics has [[tn, fp], [fn, tp]] of each; ours are tp, fp, fn, tn."""
    each = tm.multilabel_confusion_matrix((output >= 0).double() * 0.8,
                                          target.int(), 4).flatten(1)
    return each[:, [3, 1, 2, 0]]


case("confusion_matrix", {"type": "ConfusionMatrix"}, CLASSES,
     lambda output, target: {"confusion_matrix/labels": len(target)},
     lambda output, target: tm.multiclass_confusion_matrix(output, target, 6))
case("confusion_matrix_pixels", {"type": "ConfusionMatrix",
                                 "classes": list("abcd")}, PIXELS,
     lambda output, target: {"confusion_matrix/labels": (target >= 0).sum()},
     lambda output, target: tm.multiclass_confusion_matrix(
         output, target, 4, ignore_index=-100))
case("confusion_matrix_labels", {"type": "ConfusionMatrix"}, LABELS,
     lambda output, target: {"confusion_matrix/labels": target.numel()},
     of_labels)

# ---- ranking -----------------------------------------------------------------


def ranked(kind, output, target):
    """Of one class; NaN where torchmetrics has no value."""
    positives = target.sum()
    if positives == 0 or (kind == "auroc" and positives == len(target)):
        return float("nan")
    if kind == "auroc":
        return same(
            sklearn.metrics.roc_auc_score(target, output),
            tm.binary_auroc(torch.sigmoid(output), target.int()),
            tolerance=1e-6)
    return same(
        sklearn.metrics.average_precision_score(target, output),
        tm.binary_average_precision(torch.sigmoid(output), target.int()),
        tolerance=1e-6)


def mean_of(values, weights=None):
    kept = [i for i, v in enumerate(values) if not math.isnan(v)]
    if not kept:
        return float("nan")
    weights = weights or [1.0] * len(values)
    return (sum(values[i] * weights[i] for i in kept)
            / sum(weights[i] for i in kept))


def rankings(name, kind, average, by_class, truth):
    """`by_class`: [N, C] scores of one class against the others."""
    classes = by_class.shape[1]
    values = [ranked(kind, by_class[:, i], truth[:, i])
              for i in range(classes)]
    if average == "micro":
        own = ranked(kind, by_class.flatten(), truth.flatten())
    elif average == "weighted":
        own = mean_of(values, [truth[:, i].sum().item()
                               for i in range(classes)])
    else:
        own = mean_of(values)
    return {name: own,
            **{f"{name}/{i}": value for i, value in enumerate(values)}}


def one_hot(target, classes):
    return F.one_hot(target, classes).double()


FEW = [{"output": field((n, 4), 140 + n, 5.0, steps=2),
        "target": field((n,), 150 + n, classes=4)} for n in (19, 7)]
for kind, component in [("auroc", "AUROC"), ("auprc", "AveragePrecision")]:
    for average in ("macro", "micro", "weighted"):
        job = {"type": component, "average": average, "per_class": True}
        case(f"{kind}_labels_{average}", job, LABELS,
             lambda output, target: rankings(kind, kind, average, output,
                                             target))
        case(f"{kind}_classes_{average}", job, FEW,
             lambda output, target: rankings(
                 kind, kind, average, torch.softmax(output, 1),
                 one_hot(target, 4)))
    case(f"{kind}_binary", {"type": component}, BINARY,
         lambda output, target: {kind: ranked(kind, output, target)})
    case(f"{kind}_all_ties", {"type": component},
         [{"output": field((8,), 160, 0.0, 0.25),
           "target": field((8,), 161, above=0.0)}],
         lambda output, target: {kind: ranked(kind, output, target)})
    case(f"{kind}_one_class", {"type": component},
         [{"output": field((5,), 162), "target": field((5,), 163, above=-1)}],
         lambda output, target: {kind: ranked(kind, output, target)})
    case(f"{kind}_no_positive", {"type": component},
         [{"output": field((5,), 162), "target": field((5,), 163, above=1)}],
         lambda output, target: {kind: ranked(kind, output, target)})
case("auroc_torchmetrics", {"type": "AUROC"}, FEW,
     lambda output, target: {"auroc": same(
         sklearn.metrics.roc_auc_score(target, torch.softmax(output, 1),
                                       multi_class="ovr"),
         tm.multiclass_auroc(output, target, 4), tolerance=1e-6)})
case("auroc_missing_labels", {"type": "AUROC"},
     [{"output": field((21, 2), 164, 3.0),
       "target": field((21, 2), 165, above=0.0,
                       set={0: "nan", 5: -100, 12: -100})}],
     lambda output, target: {"auroc": mean_of([
         ranked("auroc", output[target[:, i] >= 0, i],
                target[target[:, i] >= 0, i]) for i in (0, 1)])})

# ---- the challenges' score ---------------------------------------------------

WEIGHTS = [[1.0, 0.3, 0.5, 0.25], [0.3, 1.0, 0.4, 0.1], [0.5, 0.4, 1.0, 0.2],
           [0.25, 0.1, 0.2, 1.0]]


def challenge(outputs, labels, weights, normal):
    """The code of the 2021 challenge's evaluation, as torch_ecg has it."""
    names = [str(i) for i in range(len(weights))]
    return compute_challenge_metric(
        numpy.array(weights), numpy.array(labels, dtype=bool),
        numpy.array(outputs, dtype=bool), names, str(normal))


case("challenge_score", {"type": "ChallengeScore", "weights": WEIGHTS,
                         "normal_class": 2}, LABELS,
     lambda output, target: {"challenge_score": challenge(
         (output >= 0).tolist(), target.bool().tolist(), WEIGHTS, 2)})
case("challenge_score_classes",
     {"type": "CinCScore", "weights": WEIGHTS, "classes": list("wxyz"),
      "normal_class": "y"}, FEW,
     lambda output, target: {"challenge_score": challenge(
         one_hot(output.argmax(1), 4).tolist(), one_hot(target, 4).tolist(),
         WEIGHTS, 2)})
case("challenge_score_always_normal",
     {"type": "ChallengeScore", "weights": WEIGHTS, "normal_class": 0},
     [{"output": field((3, 4), 166, 1.0),
       "target": field((3, 4), 166, above=1, set={0: 1, 4: 1, 8: 1})}],
     lambda output, target: {"challenge_score": challenge(
         (output >= 0).tolist(), target.bool().tolist(), WEIGHTS, 0)})

# ---- differences and images --------------------------------------------------

NUMBERS = [{"output": field((n, 3, 7), 170 + n, 3.0, 0.2),
            "target": field((n, 3, 7), 180 + n, 3.0, 0.2)} for n in (5, 2)]
MASKED = [{**batch, "mask": field((n, 1, 7), 190 + n, above=-0.2)}
          for n, batch in zip((5, 2), NUMBERS)]


def flat(values):
    return values.flatten().numpy()


for name, exact in [
        ("MAE", lambda o, t: same(sklearn.metrics.mean_absolute_error(t, o))),
        ("MSE", lambda o, t: same(sklearn.metrics.mean_squared_error(t, o))),
        ("RMSE", lambda o, t: same(
            sklearn.metrics.root_mean_squared_error(t, o))),
        ("RelativeL2", lambda o, t: numpy.linalg.norm(o - t)
         / numpy.linalg.norm(t))]:
    key = {"RelativeL2": "relative_l2"}.get(name, name.lower())
    case(key, {"type": name}, NUMBERS,
         lambda output, target: {key: exact(flat(output), flat(target))})
    case(key + "_masked", {"type": name, "mask": "mask"}, MASKED,
         lambda output, target, mask: {key: exact(
             output[mask.bool().expand_as(output)].numpy(),
             target[mask.bool().expand_as(output)].numpy())})
case("relative_l2_per_sample", {"type": "RelativeL2", "per_sample": True},
     NUMBERS,
     lambda output, target: {"relative_l2": (
         (output - target).flatten(1).norm(dim=1)
         / target.flatten(1).norm(dim=1)).mean()})

IMAGES = [{"output": field((n, 3, 19, 17), 200 + n, 0.6, 0.5),
           "target": field((n, 3, 19, 17), 210 + n, 0.6, 0.5)}
          for n in (2, 1)]


def by_image(exact):
    def values(output, target):
        return numpy.mean([exact(o.numpy(), t.numpy())
                           for o, t in zip(output, target)])
    return values


def psnr(o, t):
    return skimage.metrics.peak_signal_noise_ratio(t, o, data_range=1.0)


def ssim(o, t, **options):
    return skimage.metrics.structural_similarity(
        t, o, data_range=1.0, channel_axis=0, gaussian_weights=True,
        sigma=1.5, use_sample_covariance=False, **options)


def luma(image):
    """MATLAB's rgb2ycbcr of values in [0, 1]."""
    return (numpy.tensordot([65.481, 128.553, 24.966], image, 1)[None]
            + 16) / 255


def cut(image, border):
    return image[..., border:-border, border:-border]


case("psnr_skimage", {"type": "PSNR"}, IMAGES,
     lambda output, target: {"psnr": by_image(psnr)(output, target)})
case("psnr_y", {"type": "PSNR", "y_channel": True, "crop_border": 3}, IMAGES,
     lambda output, target: {"psnr": by_image(lambda o, t: psnr(
         luma(cut(o, 3)), luma(cut(t, 3))))(output, target)})
case("psnr_masked", {"type": "PSNR", "mask": "mask"},
     [{**IMAGES[0], "mask": field((2, 1, 19, 17), 220, above=0.1)}],
     lambda output, target, mask: {"psnr": numpy.mean([
         psnr(o[m.bool().expand_as(o)].numpy(),
              t[m.bool().expand_as(t)].numpy())
         for o, t, m in zip(output, target, mask)])})
case("ssim_skimage", {"type": "SSIM"}, IMAGES,
     lambda output, target: {"ssim": by_image(ssim)(output, target)})
case("ssim_torchmetrics", {"type": "SSIM", "padding": "reflect"}, IMAGES,
     lambda output, target: {
         "ssim": tm_image.structural_similarity_index_measure(
             output, target, data_range=1.0)})
case("ssim_y", {"type": "SSIM", "y_channel": True, "crop_border": 2}, IMAGES,
     lambda output, target: {"ssim": by_image(lambda o, t: ssim(
         luma(cut(o, 2)), luma(cut(t, 2))))(output, target)})
case("ms_ssim_metric", {"type": "MSSSIM", "padding": "reflect",
                        "sigma": 0.5, "window": 5, "betas": [0.5, 0.5]},
     [{"output": field((2, 1, 24, 22), 221, 0.8, 0.5),
       "target": field((2, 1, 24, 22), 221, 0.6, 0.4)}],
     lambda output, target: {
         "ms_ssim": tm_image.multiscale_structural_similarity_index_measure(
             output, target, data_range=1.0, sigma=0.5, kernel_size=5,
             betas=(0.5, 0.5))})

path = pathlib.Path(__file__).parent / "metric_cases.json"
path.write_text("{" + ",\n".join(
    f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}"
    for name, value in CASES.items()) + "}\n")
print(len(CASES), "cases,", path.stat().st_size, "bytes")
