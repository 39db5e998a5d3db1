#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records in which order the original systems call their hooks.

Needs srforge 0.16.2, mmengine 0.10.7, torch-ecg 0.0.33 and torch 2.11.0;
writes hook_traces.json beside this file:

    python tests/golden/record_hooks.py

PhiJAX 0.2.0b5 needs Python 3.12 and jax; its trace is recorded by running
this file there with the argument `phijax`, which adds its part alone.

Every run trains 10 samples in batches of 4, 4 and 2 (PhiJAX: three steps) and
validates 3 samples in batches of 3 where the system validates at all. Tests,
benchmarks and predictions see two batches.
"""

import json
import os
import pathlib
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ["OMP_NUM_THREADS"] = "1"
FILE = pathlib.Path(__file__).resolve().parent / "hook_traces.json"


def srforge_traces():
    import torch
    from srforge.training.hooks import StepRatio
    from srforge.training.runners import (BenchmarkRunner,
                                          TrainingEpochRunner,
                                          ValidationEpochRunner)
    from srforge.training.trainers import PyTorchTrainer
    from srforge_models import (Loader, SquaredError, gan, linear,
                                random_batches)

    def batches(*sizes):
        return Loader(random_batches(sizes))

    def watch(owner, name, events):
        for point in owner._hookpoint_names:

            def seen(context, point=point):
                events.append(f"{name}.{point}")

            getattr(owner, point).register(seen)

    def train(accumulation, epochs):
        torch.manual_seed(0)
        net = linear(3)
        training = TrainingEpochRunner(
            torch.optim.SGD(net.parameters(), lr=.1),
            gradient_accumulation_steps=accumulation, detect_anomaly=False)
        validation = ValidationEpochRunner()
        trainer = PyTorchTrainer(net, training, validation, SquaredError(),
                                 SquaredError(), hooks=[],
                                 output_directory=tempfile.mkdtemp())
        events = []
        watch(trainer, "trainer", events)
        watch(training, "train", events)
        watch(validation, "val", events)
        out, sys.stdout = sys.stdout, open(os.devnull, "w")
        try:
            trainer.train(epochs, batches(4, 4, 2), batches(3))
        finally:
            sys.stdout = out
        return events

    def train_gan(ratio):
        torch.manual_seed(0)
        model, runner = gan([StepRatio(ratio)])
        events = []
        watch(runner, "train", events)
        runner.run_epoch(model, batches(4, 4, 4), 0, criterion=SquaredError())
        return events

    def benchmark():
        net = linear(3)
        runner = BenchmarkRunner()
        events = []
        watch(runner, "benchmark", events)
        runner.run_epoch(net, batches(3, 3), 0)
        return events

    return {"srforge": train(1, 2), "srforge_accumulation_2": train(2, 1),
            "srforge_gan": train_gan(1.0),
            "srforge_gan_ratio_2": train_gan(2.0),
            "srforge_benchmark": benchmark()}


def mmengine_traces():
    import torch
    from mmengine.evaluator import BaseMetric
    from mmengine.hooks import Hook
    from mmengine.model import BaseModel
    from mmengine.runner import Runner
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Net(BaseModel):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 1)

        def forward(self, inputs, data_samples=None, mode="tensor"):
            out = self.layer(inputs)
            if mode == "loss":
                return {"loss": ((out - data_samples)**2).mean()}
            return [{"p": each.item()} for each in out]

    class Count(BaseMetric):
        default_prefix = "m"

        def process(self, batch, samples):
            self.results.extend(samples)

        def compute_metrics(self, results):
            return {"acc": float(len(results))}

    def loader(count, size):
        torch.manual_seed(1)
        return DataLoader(
            TensorDataset(torch.randn(count, 4), torch.randn(count, 1)),
            batch_size=size)

    def trace(train_cfg=None):
        """Of a training, or of a test."""
        events = []

        class Watch(Hook):
            priority = 0

        for stage in Hook.stages:

            def seen(self, runner, *args, stage=stage, **kwargs):
                events.append(stage)

            setattr(Watch, stage, seen)
        passes = {"train_dataloader": loader(10, 4), "train_cfg": train_cfg,
                  "optim_wrapper": {"optimizer": {"type": "SGD", "lr": .1}},
                  "val_dataloader": loader(3, 3), "val_cfg": {},
                  "val_evaluator": [Count()]} if train_cfg else {
                      "test_dataloader": loader(6, 3), "test_cfg": {},
                      "test_evaluator": [Count()]}
        runner = Runner(
            model=Net(), work_dir=tempfile.mkdtemp(), custom_hooks=[Watch()],
            default_hooks={"checkpoint": None, "logger": None},
            log_level="ERROR", randomness={"seed": 0},
            experiment_name=f"trace-{train_cfg}".replace("/", "-"), **passes)
        if train_cfg:
            runner.train()
        else:
            runner.test()
        return events

    return {
        "mmengine": trace({"by_epoch": True, "max_epochs": 2,
                           "val_interval": 1}),
        "mmengine_iterations": trace({"by_epoch": False, "max_iters": 3,
                                      "val_interval": 2}),
        "mmengine_test": trace(),
    }


def torch_ecg_traces():
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    from torch_ecg.cfg import CFG
    from torch_ecg.components.trainer import BaseTrainer

    events = []

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
                TensorDataset(torch.randn(10, 3), torch.randn(10, 1)),
                batch_size=4)
            self.val_loader = self.train_loader

        def run_one_step(self, *data):
            events.append("run_one_step")
            return self.model(data[0]), data[1]

        def evaluate(self, data_loader):
            events.append("evaluate")
            return {"m": float(len(events))}

        def save_checkpoint(self, path):
            events.append("save_checkpoint")

        def _update_lr(self, eval_res=None):
            events.append("_update_lr")

    folder = tempfile.mkdtemp()
    config = CFG(classes=[0], n_epochs=2, batch_size=4, log_step=1000,
                 optimizer="sgd", learning_rate=.1, lr_scheduler="none",
                 loss="MSELoss", monitor="m", checkpoints=folder,
                 model_dir=folder + "/best", log_dir=folder, txt_logger=False,
                 csv_logger=False, tensorboardx_logger=False)
    trainer = Trainer(nn.Linear(3, 1), None, {}, config,
                      device=torch.device("cpu"))
    for name in ("epoch_start", "epoch_end"):

        def seen(*args, name=name, **kwargs):
            events.append(f"loggers.{name}")

        setattr(trainer.log_manager, name, seen)
    trainer.train()
    return {"torch_ecg": events}


def phijax_traces():
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
    from phijax import Trainer
    from phijax.balancers import StaticLossBalancer
    from phijax.callbacks import Callback
    from phijax.core import BasePhiModule

    def trace(steps, stop_at=None, fail_at=None, predicts=False):
        events = []

        class Watch(Callback):
            def setup(self):
                events.append("setup")

            def on_fit_start(self, context):
                events.append("on_fit_start")

            def on_train_batch_start(self, context):
                events.append("on_train_batch_start")

            def on_train_batch_end(self, context):
                events.append("on_train_batch_end")
                return stop_at == int(context.step)

            def training_metrics(self, context):
                return {}

            def on_train_metrics(self, context):
                events.append("on_train_metrics")
                if fail_at == int(context.step):
                    raise ValueError("failed")

            def on_fit_end(self, context):
                events.append("on_fit_end")

            def on_predict_start(self, context):
                events.append("on_predict_start")

            def on_predict_epoch_start(self, context):
                events.append("on_predict_epoch_start")

            def on_predict_batch_start(self, context):
                events.append("on_predict_batch_start")

            def on_predict_batch_end(self, context):
                events.append("on_predict_batch_end")

            def on_predict_epoch_end(self, context):
                events.append("on_predict_epoch_end")

            def on_predict_end(self, context):
                events.append("on_predict_end")

            def on_exception(self, error, context):
                events.append("on_exception")

            def teardown(self):
                events.append("teardown")

        class Module(BasePhiModule):
            @property
            def loss_names(self):
                return ("a",)

            def forward(self, state, x):
                return state["w"] * x

            def training_step(self, state, batch):
                return {"a": jnp.mean((batch["x"] * state["w"] - 1.0)**2)}

        module = Module()
        trainer = Trainer(steps, accelerator="cpu", enable_progress_bar=False,
                          enable_model_summary=False, callbacks=[Watch()])
        optimizer = optax.sgd(.1)
        balancer = StaticLossBalancer(module.loss_names)
        state = trainer.initialize_state(
            {"w": jnp.ones(()) * .5}, optimizer, balancer.initialize(),
            jax.random.key(0))
        if predicts:
            trainer.predict_state(module, state,
                                  [{"inputs": np.ones(3, np.float32)}] * 2)
            return events
        step = trainer.compile_train_step(module, balancer, optimizer)
        try:
            trainer.fit_state(module, step, state,
                              lambda i: {"x": np.ones(4, np.float32)})
        except ValueError:
            pass
        return events

    return {"phijax": trace(3), "phijax_stop_at_2": trace(5, stop_at=2),
            "phijax_fail_at_2": trace(3, fail_at=2),
            "phijax_predict": trace(1, predicts=True)}


def main():
    traces = json.loads(FILE.read_text()) if FILE.exists() else {}
    # Some write logs where they are.
    os.chdir(tempfile.mkdtemp())
    if sys.argv[1:] == ["phijax"]:
        traces.update(phijax_traces())
    else:
        traces.update(srforge_traces())
        traces.update(mmengine_traces())
        traces.update(torch_ecg_traces())
    FILE.write_text(json.dumps(traces, indent=0) + "\n")


if __name__ == "__main__":
    main()
