// SPDX-License-Identifier: Apache-2.0
//
// A small experiment on the digits, put together as a trainer would, with a
// sink that keeps all events. For tests.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <stdlib.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hooks/builtin.h"
#include "tests/temp_folder.h"
#include "worker/engine/dist/single.h"
#include "worker/engine/registry/builtin.h"
#include "worker/engine/registry/experiment.h"

namespace epochd::engine {

using epochd::TempFolder;

// Keeps events; records them as far as told.
class CollectingSink : public EventSink {
 public:
  int64_t Emit(std::string_view type, Json fields) override {
    events.emplace_back(type, std::move(fields));
    return static_cast<int64_t>(events.size());
  }
  bool IsRecorded(int64_t position) const override {
    return position <= recorded;
  }
  std::vector<Json> Of(std::string_view type) const {
    std::vector<Json> found;
    for (const auto& [name, fields] : events) {
      if (name == type) found.push_back(fields);
    }
    return found;
  }

  std::vector<std::pair<std::string, Json>> events;
  std::atomic<int64_t> recorded = INT64_MAX;
};

inline const Registry& TestRegistry() {
  static const Registry registry = [] {
    Registry filled;
    AddBuiltins(filled);
    filled.Add(hooks::BuiltinHooks());
    filled.Freeze();
    return filled;
  }();
  return registry;
}

inline std::string DigitsFile() {
  const char* source = getenv("EPOCHD_TEST_SOURCE_DIR");
  return std::string(source != nullptr ? source : ".") +
         "/examples/data/digits.csv.gz";
}

// An MLP with dropout on shuffled digits: everything that a resumed run must
// bring back takes part.
inline Json DigitsExperiment(int epochs) {
  Json experiment = Json::parse(R"json({
    "seed": 7,
    "model": {"type": "MLP", "in_features": 64, "hidden": [16],
              "out_features": 10, "dropout": 0.1},
    "data": {
      "train": {"type": "Digits", "split": "train", "batch_size": 128,
                "shuffle": true,
                "transforms": [{"type": "Normalize", "mean": 4.88,
                                "std": 6.02}]},
      "val": {"type": "Digits", "split": "val", "batch_size": 256,
              "transforms": [{"type": "Normalize", "mean": 4.88,
                              "std": 6.02}]}},
    "loss": {"type": "CrossEntropy"},
    "metrics": [{"type": "Accuracy"}],
    "monitor": {"metric": "val/accuracy", "mode": "max"},
    "optimizer": {"type": "AdamW", "lr": 0.003, "weight_decay": 0.01},
    "lr_scheduler": {"type": "StepLR", "step_size": 1, "gamma": 0.7},
    "trainer": {"type": "EpochTrainer"},
    "hooks": [{"type": "GradientClip", "max_norm": 1.0}]})json");
  experiment["data"]["train"]["file"] = DigitsFile();
  experiment["data"]["val"]["file"] = DigitsFile();
  experiment["trainer"]["epochs"] = epochs;
  return experiment;
}

inline Json GanExperiment(int epochs) {
  Json experiment = Json::parse(R"json({
    "seed": 3,
    "model": {"type": "GanModel",
              "generator": {"type": "DcGenerator", "latent": 4, "channels": 1,
                            "size": 8, "width": 4},
              "discriminator": {"type": "DcDiscriminator", "channels": 1,
                                "size": 8, "width": 4}},
    "data": {"train": {"type": "Digits", "batch_size": 512,
                       "shuffle": true}},
    "optimizers": {
      "generator": {"type": "Adam", "lr": 0.0002, "betas": [0.5, 0.999]},
      "discriminator": {"type": "Adam", "lr": 0.0002, "betas": [0.5, 0.999]}},
    "trainer": {"type": "EpochTrainer"},
    "runner": {"type": "GanTrainingRunner",
               "d_loss": {"type": "RaGanDiscriminatorLoss"},
               "g_loss": {"type": "RaGanGeneratorLoss"}}})json");
  experiment["data"]["train"]["file"] = DigitsFile();
  experiment["trainer"]["epochs"] = epochs;
  return experiment;
}

// One run; `communicator` and `sink` may be lent.
struct TestRun {
  explicit TestRun(const Json& json, std::string output_dir = "",
                   std::unique_ptr<Communicator> lent = nullptr,
                   std::vector<std::string> earlier_checkpoints = {})
      : communicator(lent ? std::move(lent) : MakeSingleCommunicator()) {
    // More would wait for each other where tests share the cores.
    at::set_num_threads(1);
    experiment =
        BuildExperiment(TestRegistry(), json,
                        {.environment = {.communicator = communicator.get(),
                                         .events = &sink,
                                         .output_dir = std::move(output_dir),
                                         .earlier_checkpoints =
                                             std::move(earlier_checkpoints)}});
  }
  Trainer& trainer() { return *experiment.trainer; }
  // A copy of all weights and buffers, one after the other.
  at::Tensor Weights() {
    std::vector<at::Tensor> all;
    for (const auto& list :
         {trainer().model().Parameters(), trainer().model().Buffers()}) {
      for (const NamedTensor& each : list) {
        all.push_back(each.tensor.detach().to(at::kDouble).flatten());
      }
    }
    return at::cat(all);
  }

  CollectingSink sink;
  std::unique_ptr<Communicator> communicator;
  Experiment experiment;
};

// A snapshot with tensors of its own, which later steps leave alone.
inline Snapshot KeptSnapshot(Trainer& trainer) {
  Snapshot snapshot = trainer.TakeSnapshot();
  for (auto* list : {&snapshot.model, &snapshot.state}) {
    for (NamedTensor& each : *list) each.tensor = each.tensor.clone();
  }
  return snapshot;
}

// That of the end of the first step where `is_due`; the run stops there.
template <class IsDue>
Snapshot SnapshotWhen(const Json& json, const IsDue& is_due) {
  TestRun run(json);
  Snapshot snapshot;
  run.trainer().on_step_boundary.Bind([&](TrainerContext& context) {
    if (!is_due(context.trainer->position())) return;
    snapshot = KeptSnapshot(*context.trainer);
    context.trainer->RequestStop();
  });
  run.trainer().Start();
  run.trainer().Run();
  return snapshot;
}

}  // namespace epochd::engine
