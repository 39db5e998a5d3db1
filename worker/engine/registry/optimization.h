// SPDX-License-Identifier: Apache-2.0
//
// The parts of an experiment that say how it is optimized, beside the
// optimizers: schedules, and rates that follow from the batch size. Called
// while an experiment is built.
#pragma once

#include <cstdint>
#include <string>

#include "worker/engine/loop/schedules.h"
#include "worker/engine/registry/build_scope.h"

namespace epochd::engine {

// A value of an experiment and where it stands; null: absent.
struct PlacedValue {
  const catalogue::Json& value;
  std::string path;
};

// `list`: one scheduler or several, each of the optimizer that it names (of
// the only one by default); `by_optimizer`: the same by optimizer.
Schedules BuildSchedules(BuildScope& scope, const PlacedValue& list,
                         const PlacedValue& by_optimizer);

// How many samples a step sees.
struct StepSize {
  int64_t batch_size = 1;  // of a rank
  int64_t world_size = 1;
  int64_t batches_per_step = 1;
};

// Multiplies the rates of all groups by samples of a step / base_batch_size,
// as `{enable, base_batch_size, count_accumulation}` says; MMEngine's
// auto_scale_lr, which leaves accumulation out. Returns the factor. Throws
// Error(kBadSpec) naming what is not understood.
double ScaleRates(const PlacedValue& auto_scale_lr, const StepSize& size,
                  const NamedOptimizers& optimizers);

}  // namespace epochd::engine
