#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what optimizers and schedulers of torch and MMEngine do.

Needs torch 2.11.0, torchvision 0.26.0, mmengine 0.10.7, numpy and safetensors;
writes optimizers.json, schedules.json and mlp.safetensors:

    CUDA_VISIBLE_DEVICES=-1 python tests/golden/record_optimization.py

Each case holds `job`, what a job file says to get the same. Lion is in neither
package; lion() follows algorithm 2 of Chen et al. (2023) in numpy.
"""

import math
import warnings

import numpy
import safetensors.torch
import torch
from mmengine.optim import OptimWrapper
from mmengine.registry import OPTIM_WRAPPER_CONSTRUCTORS, PARAM_SCHEDULERS
from torch import nn
from torch.nn import functional as F
from torch.optim import lr_scheduler as sched
from torch.optim.swa_utils import SWALR

from record import FOLDER, fill, numbers, sums, write

STEPS = 200
BATCHES_PER_EPOCH = 4


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


# ---- optimizers --------------------------------------------------------------


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas,
                                      weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                momentum = self.state[p].setdefault(
                    "exp_avg", numpy.zeros(p.shape, numpy.float32))
                lion(p.numpy(), p.grad.numpy(), momentum, group)


def lion(weight, gradient, momentum, group):
    one, two = (numpy.float32(beta) for beta in group["betas"])
    lr = numpy.float32(group["lr"])
    direction = numpy.sign(one * momentum + (1 - one) * gradient)
    weight -= lr * (direction
                    + numpy.float32(group["weight_decay"]) * weight)
    momentum[:] = two * momentum + (1 - two) * gradient


# The job's names are torch's, so one mapping serves both.
OPTIMIZERS = {
    "sgd": dict(type="SGD", lr=0.05),
    "sgd_nesterov": dict(type="SGD", lr=0.05, momentum=0.9, weight_decay=1e-3,
                         nesterov=True),
    "sgd_dampening": dict(type="SGD", lr=0.05, momentum=0.8, dampening=0.3),
    "adam": dict(type="Adam", lr=3e-3, betas=[0.5, 0.999], weight_decay=1e-2),
    "adamw": dict(type="AdamW", lr=3e-3, weight_decay=0.01),
    "adamw_amsgrad": dict(type="AdamW", lr=3e-3, amsgrad=True),
    "adagrad": dict(type="Adagrad"),
    "adagrad_decays": dict(type="Adagrad", lr=0.05, lr_decay=0.01,
                           weight_decay=1e-2, initial_accumulator_value=0.1),
    "rmsprop": dict(type="RMSprop", lr=1e-3),
    "rmsprop_centered": dict(type="RMSprop", lr=1e-3, alpha=0.95, eps=1e-6,
                             momentum=0.9, centered=True, weight_decay=1e-3),
    "nadam": dict(type="NAdam"),
    "nadam_decoupled": dict(type="NAdam", lr=5e-3, betas=[0.8, 0.99],
                            momentum_decay=0.01, weight_decay=1e-2,
                            decoupled_weight_decay=True),
    "radam": dict(type="RAdam", lr=5e-3),
    "radam_decays": dict(type="RAdam", lr=5e-3, betas=[0.8, 0.9],
                         weight_decay=1e-2),
    "adamax": dict(type="Adamax", weight_decay=1e-3),
    "lion": dict(type="Lion", lr=1e-3),
    "lion_decays": dict(type="Lion", lr=1e-3, betas=[0.95, 0.98],
                        weight_decay=0.1),
}
# On a problem whose steps do not grow what rounding makes different.
CONVEX = {
    "lbfgs": dict(type="LBFGS", lr=0.02, max_iter=4, history_size=5),
    "lbfgs_wolfe": dict(type="LBFGS", max_iter=6, history_size=4,
                        line_search_fn="strong_wolfe"),
}


def make_optimizer(parameters, type, **options):
    if type == "Lion":
        return Lion(parameters, **options)
    return getattr(torch.optim, type)(parameters, **options)


def train(model, optimizer, inputs, targets):
    losses = []
    for step in range(50):
        rows = slice(step * 32 % 160, step * 32 % 160 + 32)

        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs[rows]), targets[rows])
            loss.backward()
            return loss

        losses.append(closure().item())
        optimizer.step()
    return {"losses": losses, "weights": sums(model.named_parameters())}


def train_convex(optimizer, weight, inputs, targets):
    def closure():
        optimizer.zero_grad()
        loss = (F.cross_entropy(inputs @ weight, targets)
                + 0.05 * weight.square().sum())
        loss.backward()
        return loss

    losses = [float(optimizer.step(closure)) for _ in range(50)]
    return {"losses": losses, "weights": sums([("weight", weight)])}


def state_names(optimizer, model):
    names = {p: n for n, p in model.named_parameters()}
    return sorted(
        f"{key}.{names[p]}" for p, state in optimizer.state.items()
        for key, value in state.items() if key != "step")


def record_optimizers():
    torch.manual_seed(7)
    model = Mlp(16, [32, 16], 10)
    initial = {k: v.clone() for k, v in model.state_dict().items()}
    safetensors.torch.save_file(initial, FOLDER / "mlp.safetensors")
    inputs = fill((160, 16), 1) * 4
    targets = ((fill((160,), 2) + 0.5) * 10).to(torch.int64)
    cases = {}
    for name, job in OPTIMIZERS.items():
        model.load_state_dict(initial)
        optimizer = make_optimizer(model.parameters(), **job)
        cases[name] = {"job": job, **train(model, optimizer, inputs, targets)}
        cases[name]["state"] = state_names(optimizer, model)

    # Groups: torch's, and MMEngine's by its constructor.
    model.load_state_dict(initial)
    net = model.net
    optimizer = torch.optim.SGD(
        [{"params": [net[0].weight, net[2].weight]},
         {"params": [net[0].bias, net[2].bias], "weight_decay": 0.0},
         {"params": [net[4].weight], "lr": 0.02},
         {"params": [net[4].bias], "lr": 0.02, "weight_decay": 0.0}],
        lr=0.05, momentum=0.9, weight_decay=1e-2)
    cases["groups"] = {
        "job": dict(type="SGD", lr=0.05, momentum=0.9, weight_decay=1e-2,
                    no_decay=["bias"],
                    parameter_groups=[dict(match="net.4", lr=0.02)]),
        **train(model, optimizer, inputs, targets)}
    model.load_state_dict(initial)
    paramwise = dict(bias_lr_mult=2.0, bias_decay_mult=0.5,
                     custom_keys={"net.2": dict(lr_mult=0.1, decay_mult=0.0)})
    wrapper = OPTIM_WRAPPER_CONSTRUCTORS.build(dict(
        type="DefaultOptimWrapperConstructor",
        optim_wrapper_cfg=dict(type="OptimWrapper", optimizer=dict(
            type="AdamW", lr=3e-3, weight_decay=0.1)),
        paramwise_cfg=paramwise))(model)
    assert isinstance(wrapper, OptimWrapper)
    cases["paramwise"] = {
        "job": dict(type="AdamW", lr=3e-3, weight_decay=0.1,
                    paramwise_cfg=paramwise),
        **train(model, wrapper.optimizer, inputs, targets)}
    # The first layer is frozen and so in no group.
    model.load_state_dict(initial)
    for p in net[0].parameters():
        p.requires_grad = False
    optimizer = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad], lr=3e-3,
        weight_decay=0.1)
    cases["frozen"] = {
        "job": dict(type="AdamW", lr=3e-3, weight_decay=0.1,
                    parameter_groups=[dict(match="net.0", frozen=True)]),
        **train(model, optimizer, inputs, targets)}
    convex = {}
    for name, job in CONVEX.items():
        weight = (fill((16, 10), 4) * 4).double().requires_grad_()
        optimizer = make_optimizer([weight], **job)
        convex[name] = {"job": job, **train_convex(
            optimizer, weight, inputs.double(), targets)}
    write("optimizers", {"cases": cases, "convex": convex})


# ---- schedules ---------------------------------------------------------------


def torch_case(make, job, uses_metric=False):
    return {"make": make, "job": job, "uses_metric": uses_metric}


def mm_case(*configs):
    """MMEngine's own configuration is the job."""
    def make(optimizer):
        return [PARAM_SCHEDULERS.build(dict(
            c, optimizer=optimizer, epoch_length=BATCHES_PER_EPOCH))
            for c in configs]
    return {"make": make, "job": list(configs),
            "uses_metric": configs[0]["type"].startswith("ReduceOnPlateau")}


TORCH = {
    "step": torch_case(lambda o: sched.StepLR(o, 7, 0.7),
                       dict(type="StepLR", step_size=7, gamma=0.7)),
    "multi_step": torch_case(
        lambda o: sched.MultiStepLR(o, [5, 30, 30, 120], 0.3),
        dict(type="MultiStepLR", milestones=[5, 30, 30, 120], gamma=0.3)),
    "exponential": torch_case(lambda o: sched.ExponentialLR(o, 0.97),
                              dict(type="ExponentialLR", gamma=0.97)),
    "constant": torch_case(lambda o: sched.ConstantLR(o),
                           dict(type="ConstantLR")),
    "constant_long": torch_case(
        lambda o: sched.ConstantLR(o, 0.2, 40),
        dict(type="ConstantLR", factor=0.2, total_iters=40)),
    "linear": torch_case(lambda o: sched.LinearLR(o), dict(type="LinearLR")),
    "linear_down": torch_case(
        lambda o: sched.LinearLR(o, 0.9, 0.1, 130),
        dict(type="LinearLR", start_factor=0.9, end_factor=0.1,
             total_iters=130)),
    "polynomial": torch_case(
        lambda o: sched.PolynomialLR(o, 150, 0.9),
        dict(type="PolynomialLR", total_iters=150, power=0.9)),
    "cosine": torch_case(lambda o: sched.CosineAnnealingLR(o, 30),
                         dict(type="CosineAnnealingLR", T_max=30)),
    "cosine_eta_min": torch_case(
        lambda o: sched.CosineAnnealingLR(o, 23, 1e-4),
        dict(type="CosineAnnealingLR", T_max=23, eta_min=1e-4)),
    "cosine_one": torch_case(
        lambda o: sched.CosineAnnealingLR(o, 1, 0.01),
        dict(type="CosineAnnealingLR", T_max=1, eta_min=0.01)),
    "warm_restarts": torch_case(
        lambda o: sched.CosineAnnealingWarmRestarts(o, 10, 2, 1e-3),
        dict(type="CosineAnnealingWarmRestarts", T_0=10, T_mult=2,
             eta_min=1e-3)),
    "warm_restarts_even": torch_case(
        lambda o: sched.CosineAnnealingWarmRestarts(o, 13),
        dict(type="CosineAnnealingWarmRestarts", T_0=13)),
    "one_cycle": torch_case(
        lambda o: sched.OneCycleLR(o, 0.3, total_steps=STEPS),
        dict(type="OneCycleLR", max_lr=0.3, total_steps=STEPS)),
    "one_cycle_linear": torch_case(
        lambda o: sched.OneCycleLR(
            o, [0.3, 0.1], epochs=50, steps_per_epoch=4, pct_start=0.2,
            anneal_strategy="linear", three_phase=True, div_factor=10,
            final_div_factor=100, base_momentum=0.7, max_momentum=0.99),
        dict(type="OneCycleLR", max_lr=[0.3, 0.1], epochs=50,
             steps_per_epoch=4, pct_start=0.2, anneal_strategy="linear",
             three_phase=True, div_factor=10, final_div_factor=100,
             base_momentum=0.7, max_momentum=0.99)),
    "cyclic": torch_case(
        lambda o: sched.CyclicLR(o, 0.01, 0.2, 30, 17),
        dict(type="CyclicLR", base_lr=0.01, max_lr=0.2, step_size_up=30,
             step_size_down=17)),
    "cyclic_halves": torch_case(
        lambda o: sched.CyclicLR(o, 0.01, 0.2, 20, mode="triangular2",
                                 cycle_momentum=False),
        dict(type="CyclicLR", base_lr=0.01, max_lr=0.2, step_size_up=20,
             mode="triangular2", cycle_momentum=False)),
    "cyclic_shrinks": torch_case(
        lambda o: sched.CyclicLR(o, 0.01, 0.2, 25, mode="exp_range",
                                 gamma=0.99),
        dict(type="CyclicLR", base_lr=0.01, max_lr=0.2, step_size_up=25,
             mode="exp_range", gamma=0.99)),
    "swa": torch_case(lambda o: SWALR(o, 0.01, 40),
                      dict(type="SWALR", swa_lr=0.01, anneal_epochs=40)),
    "swa_linear": torch_case(
        lambda o: SWALR(o, 0.2, 7, "linear"),
        dict(type="SWALR", swa_lr=0.2, anneal_epochs=7,
             anneal_strategy="linear")),
    "sequential": torch_case(
        lambda o: sched.SequentialLR(
            o, [sched.ConstantLR(o, 0.1, 20), sched.ExponentialLR(o, 0.98),
                sched.CosineAnnealingLR(o, 50)], [20, 120]),
        dict(type="SequentialLR", milestones=[20, 120], schedulers=[
            dict(type="ConstantLR", factor=0.1, total_iters=20),
            dict(type="ExponentialLR", gamma=0.98),
            dict(type="CosineAnnealingLR", T_max=50)])),
    "chained": torch_case(
        lambda o: sched.ChainedScheduler(
            [sched.ConstantLR(o, 0.1, 20), sched.ExponentialLR(o, 0.98)]),
        dict(type="ChainedScheduler", schedulers=[
            dict(type="ConstantLR", factor=0.1, total_iters=20),
            dict(type="ExponentialLR", gamma=0.98)])),
    "plateau": torch_case(
        lambda o: sched.ReduceLROnPlateau(o, patience=3, factor=0.5),
        dict(type="ReduceLROnPlateau", patience=3, factor=0.5), True),
    "plateau_max": torch_case(
        lambda o: sched.ReduceLROnPlateau(
            o, mode="max", patience=5, factor=0.7, threshold=0.01,
            threshold_mode="abs", cooldown=4, min_lr=1e-3),
        dict(type="ReduceLROnPlateau", mode="max", patience=5, factor=0.7,
             threshold=0.01, threshold_mode="abs", cooldown=4, min_lr=1e-3),
        True),
    "plateau_max_rel": torch_case(
        lambda o: sched.ReduceLROnPlateau(
            o, mode="max", patience=2, cooldown=1, eps=1e-4),
        dict(type="ReduceLROnPlateau", mode="max", patience=2, cooldown=1,
             eps=1e-4), True),
    "plateau_min_abs": torch_case(
        lambda o: sched.ReduceLROnPlateau(
            o, patience=0, factor=0.9, threshold=0.02, threshold_mode="abs"),
        dict(type="ReduceLROnPlateau", patience=0, factor=0.9, threshold=0.02,
             threshold_mode="abs"), True),
}

MMENGINE = {
    "mm_step": mm_case(dict(type="StepLR", step_size=7, gamma=0.7, begin=10,
                            end=100)),
    "mm_multi_step": mm_case(dict(type="MultiStepLR", milestones=[5, 30, 30],
                                  gamma=0.3, begin=20)),
    "mm_constant": mm_case(dict(type="ConstantLR", factor=0.25, begin=5,
                                end=25)),
    "mm_constant_one": mm_case(dict(type="ConstantLR", factor=0.25, begin=3,
                                    end=4)),
    "mm_exponential": mm_case(dict(type="ExponentialLR", gamma=0.95, begin=10,
                                   end=60)),
    "mm_cosine": mm_case(dict(type="CosineAnnealingLR", T_max=40,
                              eta_min=1e-3)),
    "mm_cosine_window": mm_case(dict(type="CosineAnnealingLR", begin=4,
                                     end=150, eta_min_ratio=0.05)),
    "mm_linear": mm_case(dict(type="LinearLR", start_factor=0.001, begin=0,
                              end=50)),
    "mm_linear_late": mm_case(dict(type="LinearLR", start_factor=0.2,
                                   end_factor=0.7, begin=30, end=90)),
    "mm_poly": mm_case(dict(type="PolyLR", power=0.9, eta_min=1e-4, begin=0,
                            end=150)),
    "mm_one_cycle": mm_case(dict(type="OneCycleLR", eta_max=0.4,
                                 total_steps=STEPS, pct_start=0.4)),
    "mm_restart": mm_case(dict(type="CosineRestartLR", periods=[50, 60, 70],
                               restart_weights=[1, 0.5, 0.25],
                               eta_min_ratio=0.01)),
    "mm_restart_window": mm_case(dict(
        type="CosineRestartLR", periods=[30, 30], restart_weights=[1, 0.5],
        eta_min=1e-4, begin=20, end=180)),
    "mm_plateau": mm_case(dict(type="ReduceOnPlateauLR", monitor="score",
                               patience=2, factor=0.5, cooldown=1)),
    "mm_plateau_greater": mm_case(dict(
        type="ReduceOnPlateauLR", monitor="score", rule="greater", patience=1,
        factor=0.8, threshold=0.01, threshold_rule="abs", begin=10, end=120)),
    "mm_linear_momentum": mm_case(dict(type="LinearMomentum", start_factor=0.5,
                                       begin=0, end=60)),
    "mm_cosine_momentum": mm_case(dict(type="CosineAnnealingMomentum",
                                       T_max=45, eta_min=0.3)),
    "mm_step_momentum": mm_case(dict(type="StepMomentum", step_size=11,
                                     gamma=0.9)),
    "mm_poly_momentum": mm_case(dict(type="PolyMomentum", power=2.0,
                                     eta_min=0.2, begin=0, end=100)),
    "mm_constant_momentum": mm_case(dict(
        type="ConstantMomentum", factor=0.4, begin=7, end=30)),
    "mm_exponential_momentum": mm_case(dict(
        type="ExponentialMomentum", gamma=0.98, begin=5, end=90)),
    "mm_multi_step_momentum": mm_case(dict(
        type="MultiStepMomentum", milestones=[9, 40, 40, 111], gamma=0.8)),
    "mm_restart_momentum": mm_case(dict(
        type="CosineRestartMomentum", periods=[40, 70], begin=12,
        restart_weights=[1, 0.75], eta_min=0.3)),
    "mm_plateau_momentum": mm_case(dict(
        type="ReduceOnPlateauMomentum", monitor="score", patience=2,
        factor=0.9, cooldown=1, min_value=0.4)),
    "mm_warm_up": mm_case(
        dict(type="LinearLR", start_factor=0.1, begin=0, end=20),
        dict(type="CosineAnnealingLR", T_max=180, begin=20, end=200)),
    "mm_overlap": mm_case(
        dict(type="LinearLR", start_factor=0.1, begin=0, end=50),
        dict(type="MultiStepLR", milestones=[30, 90], gamma=0.1),
        dict(type="ExponentialMomentum", gamma=0.999)),
    "mm_converted": mm_case(
        dict(type="LinearLR", start_factor=0.1, begin=0, end=5,
             convert_to_iter_based=True),
        dict(type="CosineAnnealingLR", T_max=45, begin=5, end=50,
             convert_to_iter_based=True)),
    "mm_converted_step": mm_case(dict(
        type="MultiStepLR", milestones=[3, 20], gamma=0.5,
        convert_to_iter_based=True)),
}


def settings(optimizer):
    return [(g["lr"], g["betas"][0] if "betas" in g else g["momentum"])
            for g in optimizer.param_groups]


def runs(values):
    """Writes "xn" for n further values equal to the one before."""
    written = []
    for i, value in enumerate(values):
        if i == 0 or value != values[i - 1]:
            written.append(value)
        elif isinstance(written[-1], str):
            written[-1] = f"x{int(written[-1][1:]) + 1}"
        else:
            written.append("x1")
    return written


def record_schedules():
    metrics = [
        2.0 / (1 + 0.1 * epoch) + 0.05 * value if epoch < 80
        else (math.nan if epoch == 150 else 0.25 + 0.001 * value)
        for epoch, value in enumerate(numbers(fill((STEPS,), 3)))
    ]
    cases = {}
    for name, case in {**TORCH, **MMENGINE}.items():
        is_adam = name == "mm_cosine_momentum"
        weights = [nn.Parameter(torch.zeros(1)) for _ in range(2)]
        groups = [{"params": weights[:1]},
                  {"params": weights[1:], "lr": 0.025}]
        optimizer = (torch.optim.Adam(groups, lr=0.1) if is_adam else
                     torch.optim.SGD(groups, lr=0.1, momentum=0.9))
        made = case["make"](optimizer)
        made = made if isinstance(made, list) else [made]
        is_mm = name.startswith("mm_")
        optimizer.step()
        values = [settings(optimizer)]
        for metric in metrics:
            for each in made:
                if not case["uses_metric"]:
                    each.step()
                elif is_mm:
                    each.step()
                    each.step({"score": metric})
                else:
                    each.step(metric)
            values.append(settings(optimizer))
        case_json = {"job": case["job"],
                     "optimizer": "Adam" if is_adam else "SGD"}
        for i, setting in enumerate(("lr", "momentum")):
            if len({v[0][i] for v in values}) > 1:
                case_json[setting] = runs([v[0][i] for v in values])
        # The second group, where it does not follow from the first.
        case_json["last"] = values[-1][1]
        cases[name] = case_json
    write("schedules",
          {"metrics": ["NaN" if math.isnan(m) else m for m in metrics],
           "cases": cases})


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    record_optimizers()
    record_schedules()
