// SPDX-License-Identifier: Apache-2.0
//
// A small physics-informed experiment: Burgers' equation with everything that a
// resumed or distributed run must bring back. For tests.
#pragma once

#include <string>

#include "tests/worker/engine/digits_run.h"

namespace epochd::engine {

inline std::string BurgersFile() {
  const char* source = getenv("EPOCHD_TEST_SOURCE_DIR");
  return std::string(source != nullptr ? source : ".") +
         "/examples/data/burgers/burgers.safetensors";
}

// 64 samples of 2 points inside, 1 at the start and 1 on the boundary.
inline Json BurgersExperiment(int epochs) {
  Json experiment = Json::parse(R"json({
    "seed": 4,
    "model": {"type": "PinnMLP", "hidden": [16, 16],
              "inputs": ["interior", "initial", "boundary", "input"],
              "differentiable": "interior",
              "lower": [0, -1], "upper": [1, 1]},
    "data": {
      "train": {"type": "PointSets", "batch_size": 16, "shuffle": true,
        "per_sample": {"interior": 2},
        "sets": {
          "interior": {"type": "CollocationPoints", "points": 128,
                       "domain": {"t": [0, 1], "x": [-1, 1]},
                       "sampling": "sobol", "resample": true},
          "initial": {"type": "CollocationPoints", "points": 64,
                      "domain": {"t": 0, "x": [-1, 1]},
                      "values": "-sin(pi*x)"},
          "boundary": {"type": "CollocationPoints", "points": 64,
                       "domain": {"t": [0, 1], "x": [-1, 1]}, "faces": "x",
                       "values": 0}}},
      "val": {"type": "TensorFile", "batch_size": 8192}},
    "loss": [{"type": "BurgersResidual", "viscosity": "0.01/pi"},
             {"type": "MSE", "name": "initial", "output": "initial_output",
              "target": "initial_target"},
             {"type": "MSE", "name": "boundary", "output": "boundary_output",
              "target": "boundary_target"}],
    "val_loss": {"type": "MSE"},
    "loss_balancer": {"type": "GradientNorm", "update_every_n_steps": 3},
    "optimizer": {"type": "Adam", "lr": 0.003},
    "trainer": {"type": "EpochTrainer"}})json");
  experiment["data"]["val"]["file"] = BurgersFile();
  experiment["trainer"]["epochs"] = epochs;
  return experiment;
}

}  // namespace epochd::engine
