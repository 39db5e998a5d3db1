// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/warm_up.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "worker/engine/core/optimizer.h"
#include "worker/engine/dist/single.h"
#include "worker/engine/hook/event_sink.h"
#include "worker/engine/registry/build_scope.h"
#include "worker/trainer/components.h"

namespace epochd::trainer {
namespace {

int NumThreads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return 1;
}

// One step of a small model, by the same code that ranks run.
void TrainOnce() {
  const engine::Json experiment = engine::Json::parse(R"json({
    "model": {"type": "MLP", "in_features": 4, "hidden": [4],
              "out_features": 2},
    "optimizer": {"type": "AdamW", "lr": 0.001},
    "loss": {"type": "CrossEntropy"}})json");
  engine::BuildScope scope(Components(), experiment, "warm_up");
  auto model =
      scope.MakeAs<engine::Model>(experiment["model"], "warm_up.model");
  scope.SetOptimizerTargets("", model->Parameters());
  auto optimizer = scope.MakeAs<engine::Optimizer>(experiment["optimizer"],
                                                   "warm_up.optimizer");
  auto loss = scope.MakeAs<engine::Loss>(experiment["loss"], "warm_up.loss");
  engine::Batch batch{{"input", at::ones({2, 4})},
                      {"target", at::zeros({2}, at::kLong)}};
  batch.Merge(model->Forward(batch));
  engine::MakeSingleCommunicator()
      ->SyncGradients({}, {}, {}, nullptr)
      ->Backward(loss->Compute(batch), true);
  optimizer->Step();
}

}  // namespace

void WarmUp() {
  at::set_num_threads(1);
  TrainOnce();
  const int threads = NumThreads();
  if (threads != 1) {
    throw std::runtime_error("warm up: left " + std::to_string(threads) +
                             " threads, where ranks cannot be forked from");
  }
}

}  // namespace epochd::trainer
