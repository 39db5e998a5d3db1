// SPDX-License-Identifier: Apache-2.0
//
// Builds the trainer that an experiment section describes. One thread.
//
//   Experiment experiment = BuildExperiment(registry, json, options);
//   experiment.trainer->Start();
//   experiment.trainer->Run();
#pragma once

#include <memory>
#include <string>

#include "worker/engine/loop/trainer.h"
#include "worker/engine/registry/registry.h"

namespace epochd::engine {

struct Experiment {
  // "train", "validate", "test", "predict" or "benchmark".
  std::string task;
  uint64_t seed = 0;
  int64_t num_parameters = 0;
  // A quick trial of all parts (fast_dev_run): nothing of it is worth keeping.
  bool is_trial = false;
  // What to load weights from before all else; may be empty.
  std::string load_from;
  // There were `initial_weights`, too; the model has them.
  bool has_initial_weights = false;
  // Those weights, and a checkpoint, must fit in all; else what fits is taken.
  bool load_strict = true;
  // "auto", "never", or the checkpoint to go on from; empty: not said, which
  // means auto.
  std::string resume;
  std::unique_ptr<Trainer> trainer;
};

struct ExperimentOptions {
  // Of field paths in messages.
  std::string root = "experiment";
  RunEnvironment environment;
};

// Checks `experiment` against the catalogue, then builds it. Throws
// Error(kBadSpec) with every violation, one a line, or with what building met.
Experiment BuildExperiment(const Registry& registry,
                           const catalogue::Json& experiment,
                           ExperimentOptions options);

}  // namespace epochd::engine
