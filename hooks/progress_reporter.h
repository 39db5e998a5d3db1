// SPDX-License-Identifier: Apache-2.0
//
// ProgressReporter: tells what a run does: its beginning, the first step,
// epochs, scores, and progress at most four times a second. Rank 0 alone
// speaks, but for the first step. Made by the trainer program, not by name.
#pragma once

#include <chrono>
#include <string>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"

namespace epochd::hooks {

class ProgressReporter : public engine::Hook {
 public:
  // What only the program knows about the run.
  struct Options {
    int64_t num_parameters = 0;
    std::string resumed_from{};  // checkpoint's folder; empty: from nothing
  };
  explicit ProgressReporter(Options options) : options_(std::move(options)) {}

  const char* name() const override { return "ProgressReporter"; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToValidation(engine::ValidationRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;

  // Known only after the hook was attached.
  void set_options(Options options) { options_ = std::move(options); }

 private:
  using Clock = std::chrono::steady_clock;
  void Begin(const engine::RunnerContext& context);
  void Step(const engine::RunnerContext& context);
  void TellBegan(const engine::TrainerContext& context);
  void TellFinished(const engine::TrainerContext& context);
  template <class Runner>
  void AttachToRunner(Runner& runner);

  Options options_;
  engine::Trainer* trainer_ = nullptr;
  bool told_first_step_ = false;
  Clock::time_point next_;
  // Where the current pass stood when it was last told of, for its rate.
  Clock::time_point pass_began_;
  int64_t pass_samples_ = 0;
};

}  // namespace epochd::hooks
