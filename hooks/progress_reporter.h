// SPDX-License-Identifier: Apache-2.0
//
// ProgressReporter: tells what a run does: its beginning, the first step,
// epochs, scores, also of validations within an epoch, and progress at most so
// often; also of validations, tests and predictions. Rank 0 alone speaks, but
// for the first step. Of several the first one that is attached speaks for all;
// the trainer program sees to it that there is one, of all passes.
#pragma once

#include <chrono>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class ProgressReporter : public engine::Hook {
 public:
  struct Options {
    // Between two events of progress.
    std::chrono::milliseconds interval{250};
  };
  explicit ProgressReporter(const Options& options) : options_(options) {}

  const char* name() const override { return "ProgressReporter"; }
  bool may_stop() const override { return false; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToValidation(engine::ValidationRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;
  void AttachToPrediction(engine::PredictionRunner& runner) override;

 private:
  using Clock = std::chrono::steady_clock;
  void Begin(const engine::RunnerContext& context);
  void Step(const engine::RunnerContext& context);
  void TellBegan(const engine::TrainerContext& context);
  void TellValidated(const engine::TrainerContext& context);
  void TellFinished(const engine::TrainerContext& context);
  template <class Runner>
  void AttachToRunner(Runner& runner);

  const Options options_;
  engine::Trainer* trainer_ = nullptr;  // nullptr: another one speaks
  bool told_first_step_ = false;
  Clock::time_point next_;
  // Where the current pass stood when it was last told of, for its rate.
  Clock::time_point pass_began_;
  int64_t pass_samples_ = 0;
};

engine::Entry<engine::Hook> ProgressReporterEntry();

}  // namespace epochd::hooks
