// SPDX-License-Identifier: Apache-2.0
//
// EpochRun: what a trainer hands to a runner for one epoch. References outlive
// the call.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/core/metric.h"
#include "worker/engine/dist/communicator.h"
#include "worker/engine/loop/criterion.h"
#include "worker/engine/loop/meter.h"
#include "worker/engine/loop/position.h"

namespace epochd::engine {

// How a runner asks whether to go on; the trainer implements it.
class StepControl {
 public:
  virtual ~StepControl() = default;

  // A batch of the training is done, its hooks too: schedulers by batch or
  // step are due. Comes before AfterStep().
  virtual void AfterBatch() = 0;
  // An optimizer step was done and all is in a state that can be saved. True:
  // leave the epoch now.
  virtual bool AfterStep(bool hook_wants_stop) = 0;
  // Between batches of a pass without steps. True: leave the pass.
  virtual bool ShouldLeave() const = 0;
};

struct EpochRun {
  Model& model;
  // Begun at the position's epoch and batch.
  BatchSource& source;
  const Criterion& criterion;
  Meter& meter;
  Position& position;
  StepControl& control;
  GradientSync& sync;
  c10::Device device = c10::Device(c10::kCPU);
  std::string phase = "train";
  std::vector<std::shared_ptr<Metric>> metrics{};
};

}  // namespace epochd::engine
