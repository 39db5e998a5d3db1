// SPDX-License-Identifier: Apache-2.0
//
// A small experiment that ranks train, and how a rank says what did not hold.
// For tests.
#pragma once

#include <ATen/ATen.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/checkpoint/safetensors.h"

namespace epochd::engine {

inline std::vector<int> AllDone(int world_size) {
  return std::vector<int>(static_cast<size_t>(world_size), 0);
}

// In a rank: what was expected and did not hold is its exit code.
#define RANK_EXPECT(condition)                                               \
  do {                                                                       \
    if (!(condition)) {                                                      \
      std::fprintf(stderr, "rank %d: line %d: %s\n", options.rank, __LINE__, \
                   #condition);                                              \
      return 1;                                                              \
    }                                                                        \
  } while (false)

// A file of `count` samples of 4 numbers and a target.
inline std::string DataFile(const TempFolder& folder, int64_t count) {
  const std::string path = folder / ("data-" + std::to_string(count));
  if (std::filesystem::exists(path)) return path;
  WriteSafetensors(path,
                   {{"input", at::arange(count * 4).view({count, 4}) / 10.0},
                    {"target", at::arange(count).remainder(2)}});
  return path;
}

inline Json SmallExperiment(const std::string& train, const std::string& val) {
  Json json = Json::parse(R"json({
    "seed": 1,
    "model": {"type": "MLP", "in_features": 4, "hidden": [3],
              "out_features": 2},
    "data": {"train": {"type": "TensorFile", "batch_size": 2},
             "val": {"type": "TensorFile", "batch_size": 2}},
    "loss": {"type": "CrossEntropy"},
    "metrics": [{"type": "Accuracy"}],
    "optimizer": {"type": "SGD", "lr": 0.1},
    "trainer": {"type": "EpochTrainer", "epochs": 1}})json");
  json["data"]["train"]["file"] = train;
  json["data"]["val"]["file"] = val;
  return json;
}

}  // namespace epochd::engine
