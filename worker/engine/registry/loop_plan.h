// SPDX-License-Identifier: Apache-2.0
//
// What a trainer's parameters say of the loop: its plan and how much of each
// part of the data it takes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/loop/plan.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

// The parameters that both trainers have.
std::vector<catalogue::Parameter> LoopParameters();

// `by_batches`: of an IterationTrainer. Throws Error(kBadSpec) naming the
// parameter.
LoopPlan ReadLoopPlan(const Params& trainer, bool by_batches);

// A number of batches, or a share of those that there are.
struct BatchLimit {
  std::optional<int64_t> batches{};
  std::optional<double> share{};

  bool is_set() const { return batches || share; }
  // Of `available`, which is below 0 where it is not known. Throws
  // Error(kBadSpec) naming `path`.
  int64_t Of(int64_t available, const std::string& path) const;
};

// How much a quick or partial run takes of the data.
struct DataLimits {
  BatchLimit train, val, test, predict;
  // Train on the first batches alone, in one order, and validate on them.
  BatchLimit overfit;
  // A trial of every part with so many batches; 0: no trial.
  int64_t fast_dev_run = 0;

  const BatchLimit& Of(const std::string& part) const;
};
DataLimits ReadDataLimits(const Params& trainer);

}  // namespace epochd::engine
