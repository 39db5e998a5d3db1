// SPDX-License-Identifier: Apache-2.0
//
// StepTimer: times of steps as metrics, in seconds: train/data_time (a step's
// wait for its batch, and of a GAN the making of its fakes), train/time (a
// whole step, that included), val/data_time and val/time; and train/eta in the
// message hub: what the rest of the training will take at the mean pace since
// this run began, or max_time allows. Validation is not in it. There is none
// where the end is not known.
#pragma once

#include <chrono>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class StepTimer : public engine::Hook {
 public:
  const char* name() const override { return "StepTimer"; }
  bool may_stop() const override { return false; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;
  void AttachToValidation(engine::ValidationRunner& runner) override;

 private:
  using Clock = std::chrono::steady_clock;
  template <class Runner>
  void AttachToRunner(Runner& runner);
  double SecondsSince(Clock::time_point began) const;
  void AfterStep(engine::RunnerContext& context);

  engine::Trainer* trainer_ = nullptr;
  Clock::time_point last_end_;
  Clock::time_point val_end_;
  double data_time_ = 0;
  double val_data_time_ = 0;
  double total_ = 0;  // of steps of this run
  int64_t steps_ = 0;
};

engine::Entry<engine::Hook> StepTimerEntry();

}  // namespace epochd::hooks
