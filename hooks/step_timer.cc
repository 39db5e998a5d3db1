// SPDX-License-Identifier: Apache-2.0
#include "hooks/step_timer.h"

#include <algorithm>
#include <optional>

#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {

double StepTimer::SecondsSince(Clock::time_point began) const {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

void StepTimer::AttachToTrainer(engine::Trainer& trainer) {
  trainer_ = &trainer;
  // The next step of an epoch does not wait for its data meanwhile.
  trainer.on_validation_finished.Bind(
      [this](engine::TrainerContext&) { last_end_ = Clock::now(); });
}

template <class Runner>
void StepTimer::AttachToRunner(Runner& runner) {
  runner.on_epoch_start.Bind(
      [this](engine::RunnerContext&) { last_end_ = Clock::now(); });
  runner.on_pre_step.Bind(
      [this](engine::RunnerContext&) { data_time_ = SecondsSince(last_end_); });
  runner.on_post_step.Bind(
      [this](engine::RunnerContext& context) { AfterStep(context); });
}

void StepTimer::AfterStep(engine::RunnerContext& context) {
  const double time = SecondsSince(last_end_);
  last_end_ = Clock::now();
  context.AddMetric("data_time", data_time_);
  context.AddMetric("time", time);
  total_ += time;
  ++steps_;
  if (trainer_ == nullptr) return;
  std::optional<double> eta = trainer_->SecondsLeft();
  if (const std::optional<int64_t> left = trainer_->BatchesLeft()) {
    const double seconds =
        total_ / static_cast<double>(steps_) * static_cast<double>(*left);
    eta = std::min(eta.value_or(seconds), seconds);
  }
  if (eta) trainer_->messages().Add("train/eta", std::max(*eta, 0.0));
}

void StepTimer::AttachToTraining(engine::TrainingRunner& runner) {
  AttachToRunner(runner);
}

void StepTimer::AttachToGan(engine::GanTrainingRunner& runner) {
  AttachToRunner(runner);
}

void StepTimer::AttachToValidation(engine::ValidationRunner& runner) {
  runner.on_epoch_start.Bind(
      [this](engine::RunnerContext&) { val_end_ = Clock::now(); });
  runner.on_pre_step.Bind([this](engine::RunnerContext&) {
    val_data_time_ = SecondsSince(val_end_);
  });
  runner.on_post_step.Bind([this](engine::RunnerContext& context) {
    context.AddMetric("data_time", val_data_time_);
    context.AddMetric("time", SecondsSince(val_end_));
    val_end_ = Clock::now();
  });
}

engine::Entry<engine::Hook> StepTimerEntry() {
  return {
      {.kind = "hook",
       .name = "StepTimer",
       .aliases = {"IterTimerHook"},
       .help = "times of steps, of waiting for data, and until the end",
       .gives = {"train/time", "train/data_time", "val/time", "val/data_time"}},
      [](const engine::Params&) -> std::shared_ptr<engine::Hook> {
        return std::make_shared<StepTimer>();
      }};
}

}  // namespace epochd::hooks
