// SPDX-License-Identifier: Apache-2.0
//
// ValidationRunner: forward, losses and metrics without gradients; also for
// tests and benchmarks. Fires on_epoch_start, on_pre_step and on_post_step for
// each batch, on_epoch_end. Holds no criterion.
#pragma once

#include "worker/engine/hook/hook.h"
#include "worker/engine/hook/hook_point.h"
#include "worker/engine/loop/epoch_run.h"
#include "worker/engine/loop/postprocess.h"
#include "worker/engine/loop/precision.h"

namespace epochd::engine {

class ValidationRunner {
 public:
  struct Options {
    Precision precision = Precision::kFloat32;
    // Without: runs also where there is nothing to measure by (a benchmark).
    bool needs_criterion = true;
    Postprocessors postprocessors{};
  };
  ValidationRunner() = default;
  explicit ValidationRunner(const Options& options) : options_(options) {}

  HookPoint<RunnerContext> on_epoch_start;
  HookPoint<RunnerContext> on_pre_step;
  HookPoint<RunnerContext> on_post_step;
  HookPoint<RunnerContext> on_epoch_end;

  // Resets and fills the run's meter and metrics; leaves its position alone.
  // False: it left early.
  bool RunEpoch(EpochRun& run);
  // Lets the hook bind to this runner's points.
  void Attach(Hook& hook) {
    const BindingPriority priority(hook.priority());
    hook.AttachToValidation(*this);
  }
  bool needs_criterion() const { return options_.needs_criterion; }
  Precision precision() const { return options_.precision; }

 private:
  const Options options_{};
};

}  // namespace epochd::engine
