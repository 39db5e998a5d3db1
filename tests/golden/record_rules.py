#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records when the original systems stop, and which checkpoints they keep.

Needs srforge 0.16.2, mmengine 0.10.7, torch-ecg 0.0.33, lightning 2.6.6,
keras 3.12.0 and torch 2.11.0; writes rules.json for rules_test.cc:

    python tests/golden/record_rules.py

PhiJAX 0.2.0b5 needs Python 3.12 and jax; its part is recorded by running this
file there with the argument `phijax`, which adds that part alone.

stopping  index of the score that stops (-1: none) of series of random scores.
          Scores are eighths, so that gains are exactly min_delta now and then.
keeping   epochs of the checkpoints that are left (PhiJAX: steps)
"""

import itertools
import json
import math
import os
import pathlib
import random
import re
import sys
import tempfile
import types
import warnings

warnings.filterwarnings("ignore")
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["KERAS_BACKEND"] = "torch"
os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"
FILE = pathlib.Path(__file__).parent / "rules.json"
PER_SYSTEM = 60
LENGTH = 14


def random_series(dice, length, odd):
    """A walk in eighths; `odd`: sometimes with a NaN, but not at first."""
    value, series = dice.randint(4, 12), []
    for _ in range(length):
        series.append(value / 8)
        value = min(max(value + dice.choice((-2, -1, -1, 0, 0, 1, 1, 2)), 0),
                    16)
    if odd and dice.random() < 0.2:
        series[dice.randint(1, length - 1)] = math.nan
    return series


def stop_cases(system, modes, **options):
    dice = random.Random(system)
    for _ in range(PER_SYSTEM):
        case = {"system": system, "mode": dice.choice(modes),
                "patience": dice.choice((0, 1, 2, 2, 3, 3, 4, 5)),
                "min_delta": dice.choice((0.0, 0.0, 0.125, 0.25)),
                "scores": random_series(dice, LENGTH, True)}
        for name, values in options.items():
            value = dice.choice(values)
            if value is not None:
                case[name] = value
        yield case


def stop_index(scores, observe):
    for index, score in enumerate(scores):
        if observe(index, score):
            return index
    return -1


def stop_srforge(case):
    from srforge.training.stop import ValidationLossDidNotImprove
    condition = ValidationLossDidNotImprove(case["patience"],
                                            case["min_delta"])
    return stop_index(case["scores"], lambda index, score:
                      condition.is_condition_satisfied(index, 0.0, score))


def stop_mmengine(case):
    from mmengine.hooks import EarlyStoppingHook
    hook = EarlyStoppingHook(
        "score", rule="greater" if case["mode"] == "max" else "less",
        min_delta=case["min_delta"], patience=case["patience"],
        stopping_threshold=case.get("stopping_threshold"))
    runner = types.SimpleNamespace(
        rank=0, train_loop=types.SimpleNamespace(stop_training=False),
        logger=types.SimpleNamespace(info=lambda text: None))
    hook.before_run(runner)

    def observe(_, score):
        hook.after_val_epoch(runner, {"score": score})
        return runner.train_loop.stop_training

    return stop_index(case["scores"], observe)


def stop_lightning(case):
    import torch
    from lightning.pytorch.callbacks import EarlyStopping
    callback = EarlyStopping(
        "score", min_delta=case["min_delta"], patience=case["patience"],
        mode=case["mode"], stopping_threshold=case.get("stopping_threshold"))
    return stop_index(
        case["scores"], lambda _, score:
        callback._evaluate_stopping_criteria(torch.tensor(score))[0])


def stop_keras(case):
    from keras.callbacks import EarlyStopping
    callback = EarlyStopping(
        "score", min_delta=case["min_delta"], patience=case["patience"],
        mode=case["mode"], baseline=case.get("baseline"))
    model = types.SimpleNamespace(stop_training=False)
    callback.set_model(model)
    callback.on_train_begin()

    def observe(epoch, score):
        callback.on_epoch_end(epoch, {"score": score})
        return model.stop_training

    return stop_index(case["scores"], observe)


def stop_phijax(case):
    from phijax.callbacks import EarlyStopping
    callback = EarlyStopping("score", patience=case["patience"],
                             mode=case["mode"], min_delta=case["min_delta"])
    return stop_index(
        case["scores"], lambda _, score: callback.on_train_batch_end(
            types.SimpleNamespace(metrics={"score": score})))


def torch_ecg_trainer(scores, **config):
    """A trainer of one batch an epoch, and the epochs that it saved."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    from torch_ecg.cfg import CFG
    from torch_ecg.components.trainer import BaseTrainer

    class Trainer(BaseTrainer):
        __name__ = "Trainer"

        @property
        def batch_dim(self):
            return 0

        @property
        def extra_required_train_config_fields(self):
            return []

        def _setup_dataloaders(self, train=None, val=None):
            self.train_loader = DataLoader(
                TensorDataset(torch.zeros(1, 1), torch.zeros(1, 1)))
            self.val_loader = self.train_loader

        def run_one_step(self, *data):
            return self.model(data[0]), data[1]

        def evaluate(self, data_loader):
            return {"score": scores[self.epoch]}

        def save_checkpoint(self, path):
            pass

    folder = tempfile.mkdtemp()
    return Trainer(
        nn.Linear(1, 1), None, {},
        CFG(classes=[0], n_epochs=len(scores), batch_size=1, log_step=1000,
            optimizer="sgd", learning_rate=.1, lr_scheduler="none",
            loss="MSELoss", monitor="score", checkpoints=folder,
            model_dir=folder + "/best", log_dir=folder, txt_logger=False,
            csv_logger=False, tensorboardx_logger=False, **config),
        device=torch.device("cpu"))


def stop_torch_ecg(case):
    trainer = torch_ecg_trainer(
        case["scores"], early_stopping={"patience": case["patience"],
                                        "min_delta": case["min_delta"]})
    trainer.train()
    # The epoch that stops is not counted.
    return trainer.epoch if trainer.epoch < len(case["scores"]) else -1


def keep_torch_ecg(case):
    trainer = torch_ecg_trainer(case["scores"],
                                keep_checkpoint_max=case["keep"])
    trainer.train()
    # Its removal leaves out a suffix; what it wants to keep is this list.
    return {"left": [int(re.search(r"_epoch(\d+)_", str(path)).group(1)) + 1
                     for path in trainer.saved_models],
            "best": int(trainer.best_epoch) + 1}


def keep_mmengine(case):
    import torch
    from mmengine.evaluator import BaseMetric
    from mmengine.model import BaseModel
    from mmengine.runner import Runner
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Net(BaseModel):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1)

        def forward(self, inputs, data_samples=None, mode="tensor"):
            out = self.layer(inputs)
            return {"loss": out.mean()} if mode == "loss" else [out]

    scores = iter(case["scores"])

    class Scripted(BaseMetric):
        default_prefix = "m"

        def process(self, batch, samples):
            self.results.append(0)

        def compute_metrics(self, results):
            return {"score": next(scores)}

    def loader():
        return DataLoader(TensorDataset(torch.zeros(1, 1), torch.zeros(1, 1)))

    folder = tempfile.mkdtemp()
    options = {name: case[name] for name in ("interval", "max_keep_ckpts",
                                             "save_last", "save_begin")}
    if case["save_best"]:
        options.update(save_best="m/score", rule=case["rule"])
    Runner(model=Net(), work_dir=folder, train_dataloader=loader(),
           val_dataloader=loader(), val_evaluator=[Scripted()], val_cfg={},
           optim_wrapper={"optimizer": {"type": "SGD", "lr": .1}},
           train_cfg={"by_epoch": True, "max_epochs": len(case["scores"])},
           default_hooks={"logger": None,
                          "checkpoint": {"type": "CheckpointHook", **options}},
           log_level="ERROR", randomness={"seed": 0},
           experiment_name=folder.replace("/", "-")).train()
    names = [path.stem for path in pathlib.Path(folder).glob("*.pth")]
    best = [int(name.split("_")[-1]) for name in names
            if name.startswith("best_")]
    return {"left": sorted(int(name.split("_")[-1]) for name in names
                           if name.startswith("epoch_")),
            "best": best[0] if best else None}


def keep_srforge(case):
    import torch
    from srforge.data import Entry
    from srforge.metrics import Metric
    from srforge.training.hooks import PyTorchModelSaver
    from srforge.training.runners import (TrainingEpochRunner,
                                          ValidationEpochRunner)
    from srforge.training.trainers import PyTorchTrainer
    from srforge_models import Loader, linear

    scores = iter(case["scores"])

    class Scripted(Metric):
        @property
        def best_min(self):
            return True

        def calculate_score(self, p: torch.Tensor,
                            y: torch.Tensor) -> torch.Tensor:
            return (p - y)[:, 0] if self.training_ else torch.full(
                (1,), next(scores))

        training_ = False

    learning = Scripted()
    learning.training_ = True
    net = linear()
    batches = Loader([Entry(x=torch.ones(1, 3), y=torch.ones(1, 1))])
    folder = tempfile.mkdtemp()
    PyTorchTrainer(
        net, TrainingEpochRunner(torch.optim.SGD(net.parameters(), lr=.1),
                                 detect_anomaly=False),
        ValidationEpochRunner(), learning, Scripted(),
        hooks=[PyTorchModelSaver()], output_directory=folder).train(
            len(case["scores"]), batches, batches)
    saved = {name: torch.load(f"{folder}/checkpoint_{name}.pth",
                              weights_only=False)["epoch"] + 1
             for name in ("last", "best")}
    return {"left": [saved["last"]], "best": saved["best"]}


def keep_phijax(case):
    from phijax.callbacks import ModelCheckpoint

    class Store:
        def __init__(self):
            self.saved = []

        @property
        def latest_step(self):
            return self.saved[-1] if self.saved else None

        def checkpoint_path(self, step):
            return pathlib.Path(str(step))

        def save(self, state, step, metrics, **options):
            self.saved.append(step)
            return True

        def delete(self, step):
            self.saved.remove(step)

    store = Store()
    callback = ModelCheckpoint(
        store, every_n_steps=case["every"], save_last=True, monitor="score",
        mode=case["mode"], save_top_k=case["top_k"])
    callback.setup()
    for step, score in enumerate(case["scores"], 1):
        context = types.SimpleNamespace(
            step=step, metrics={"score": score}, state=None,
            callback_states={})
        callback.on_train_metrics(context)
    callback.on_fit_end(context)
    best = callback.best_model_path
    return {"left": sorted(store.saved),
            "best": int(str(best)) if best is not None else None}


def record_stopping(systems):
    thresholds = (None, None, None, 0.25, 1.5)
    cases = {
        "srforge": (stop_srforge, ("min",), {"patience": (1, 2, 3, 4, 5)}),
        "mmengine": (stop_mmengine, ("min", "max"),
                     {"stopping_threshold": thresholds}),
        "torch_ecg": (stop_torch_ecg, ("max",), {}),
        "lightning": (stop_lightning, ("min", "max"),
                      {"stopping_threshold": thresholds}),
        "keras": (stop_keras, ("min", "max"),
                  {"baseline": (None, None, 0.5, 1.0)}),
        "phijax": (stop_phijax, ("min", "max"), {}),
    }
    for system in systems:
        stop, modes, options = cases[system]
        for case in stop_cases(system, modes, **options):
            yield {**case, "stops": stop(case)}


def record_keeping(systems):
    dice = random.Random("keeping")
    grids = {
        "mmengine": (keep_mmengine, {
            "interval": (1, 2, 3), "max_keep_ckpts": (-1, 1, 2),
            "save_best": (False, True), "save_last": (True, False),
            "save_begin": (0, 3)}, 20),
        "torch_ecg": (keep_torch_ecg, {"keep": (-1, 1, 2, 3)}, 4),
        "srforge": (keep_srforge, {}, 4),
        "phijax": (keep_phijax, {
            "every": (1, 2, 3), "top_k": (-1, 0, 1, 2, 3),
            "mode": ("min", "max")}, 60),
    }
    for system in systems:
        keep, grid, count = grids[system]
        all_options = [dict(zip(grid, values))
                       for values in itertools.product(*grid.values())]
        chosen = (dice.sample(all_options, count)
                  if count < len(all_options) else
                  [dice.choice(all_options) for _ in range(count)])
        for options in chosen:
            case = {"system": system, **options,
                    "scores": random_series(dice, 7, system == "mmengine")}
            if system == "mmengine":
                case["rule"] = dice.choice(("less", "greater"))
            yield {**case, **keep(case)}


def main():
    recorded = (json.loads(FILE.read_text()) if FILE.exists() else
                {"stopping": [], "keeping": []})
    others = ("srforge", "mmengine", "torch_ecg")
    is_phijax = sys.argv[1:] == ["phijax"]
    stopping = ["phijax"] if is_phijax else [*others, "lightning", "keras"]
    keeping = ["phijax"] if is_phijax else others
    out, sys.stdout = sys.stdout, open(os.devnull, "w")
    try:
        new = {"stopping": list(record_stopping(stopping)),
               "keeping": list(record_keeping(keeping))}
    finally:
        sys.stdout = out
    parts = []
    for name, cases in new.items():
        systems = {case["system"] for case in cases}
        cases = [case for case in recorded[name]
                 if case["system"] not in systems] + cases
        lines = ",\n".join(json.dumps(case).replace("NaN", '"nan"')
                           for case in cases)
        parts.append(f'"{name}": [\n{lines}]')
    FILE.write_text("{" + ",\n".join(parts) + "}\n")


if __name__ == "__main__":
    main()
