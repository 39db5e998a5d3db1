// SPDX-License-Identifier: Apache-2.0
#include "hooks/nan_guard.h"

#include <memory>
#include <string>

#include "worker/engine/core/error.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {

void NanGuard::Judge(const engine::RunnerContext& context,
                     const engine::Update& update, int64_t total) const {
  const int64_t in_a_row = update.faults().in_a_row;
  if (in_a_row == 0) return;
  // Of a GAN there are two.
  const std::string what =
      (context.update == nullptr ? update.name() + ": " : "") +
      std::string(update.loss_was_finite() ? "gradients are" : "the loss is") +
      " not finite at epoch " + std::to_string(context.epoch + 1) + ", batch " +
      std::to_string(context.batch + 1) + " (step " +
      std::to_string(context.step + 1) + ")";
  if (limit_ > 0 && in_a_row >= limit_) {
    throw engine::Error(
        engine::ErrorKind::kTraining,
        "NanGuard: " + what +
            (limit_ > 1 ? ", the " + std::to_string(limit_) + ". step in a row"
                        : ""));
  }
  if (trainer_ == nullptr) return;
  trainer_->messages().Add("train/skipped_steps", static_cast<double>(total));
  if (in_a_row == 1) {
    trainer_->events().Notice("warning",
                              "NanGuard: " + what + "; the step is left out");
  }
}

void NanGuard::AttachToTraining(engine::TrainingRunner& runner) {
  runner.on_epoch_start.Bind([](engine::RunnerContext& context) {
    context.update->LeaveOutNonFinite();
  });
  runner.on_after_optimizer_step.Bind([this](engine::RunnerContext& context) {
    Judge(context, *context.update, context.update->faults().total);
  });
}

void NanGuard::AttachToGan(engine::GanTrainingRunner& runner) {
  runner.on_epoch_start.Bind([](engine::GanContext& context) {
    context.discriminator_update->LeaveOutNonFinite();
    context.generator_update->LeaveOutNonFinite();
  });
  const auto total = [](const engine::GanContext& context) {
    return context.discriminator_update->faults().total +
           context.generator_update->faults().total;
  };
  runner.on_after_d_step.Bind([this, total](engine::GanContext& context) {
    Judge(context, *context.discriminator_update, total(context));
  });
  runner.on_after_g_step.Bind([this, total](engine::GanContext& context) {
    Judge(context, *context.generator_update, total(context));
  });
}

engine::Entry<engine::Hook> NanGuardEntry() {
  return {{.kind = "hook",
           .name = "NanGuard",
           .help = "tells of steps whose loss or gradients are not finite; "
                   "has them left out on any device",
           .parameters = {{.name = "limit",
                           .type = "int",
                           .default_value = 1,
                           .min = 0,
                           .help = "such steps in a row that end the "
                                   "training; 0: as many as the runner's "
                                   "max_non_finite_steps"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<NanGuard>(params.Int("limit"));
          }};
}

}  // namespace epochd::hooks
