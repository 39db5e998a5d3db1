// SPDX-License-Identifier: Apache-2.0
//
// ValidationRunner: forward and loss without gradients, metrics. Fires
// on_epoch_start, on_pre_step and on_post_step for each batch, on_epoch_end.
// Holds no criterion.
#pragma once

#include "worker/engine/hook/hook.h"
#include "worker/engine/hook/hook_point.h"
#include "worker/engine/loop/epoch_run.h"
#include "worker/engine/loop/precision.h"

namespace epochd::engine {

class ValidationRunner {
 public:
  explicit ValidationRunner(Precision precision = Precision::kFloat32)
      : precision_(precision) {}

  HookPoint<RunnerContext> on_epoch_start;
  HookPoint<RunnerContext> on_pre_step;
  HookPoint<RunnerContext> on_post_step;
  HookPoint<RunnerContext> on_epoch_end;

  // Resets and fills the run's meter and metrics; leaves its position alone.
  // False: it left early.
  bool RunEpoch(EpochRun& run);
  void Attach(Hook& hook) {
    const BindingPriority priority(hook.priority());
    hook.AttachToValidation(*this);
  }

 private:
  const Precision precision_;
};

}  // namespace epochd::engine
