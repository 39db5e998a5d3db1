// SPDX-License-Identifier: Apache-2.0
#include "hooks/nan_guard.h"

#include <cmath>

#include "worker/engine/core/error.h"
#include "worker/engine/core/scalar.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {

void NanGuard::SeeLoss(const engine::RunnerContext& context) {
  if (context.loss.defined() &&
      !std::isfinite(engine::ReadScalar(context.loss))) {
    loss_is_odd_ = true;
  }
}

void NanGuard::SeeGradients(engine::RunnerContext& context,
                            engine::Update& update) {
  const bool loss_was_odd = std::exchange(loss_is_odd_, false);
  const bool has_scaler = update.options().scaler.has_value();
  if ((has_scaler && !loss_was_odd) || update.FindNonFinite().empty()) {
    in_a_row_ = 0;
    return;
  }
  // A scaler leaves the step out itself, and must see why.
  if (!has_scaler) context.skip_step = true;
  ++in_a_row_;
  ++skipped_;
  const std::string what =
      std::string(loss_was_odd ? "the loss is" : "gradients are") +
      " not finite at epoch " + std::to_string(context.epoch + 1) + ", batch " +
      std::to_string(context.batch + 1) + " (step " +
      std::to_string(context.step + 1) + ")";
  if (limit_ > 0 && in_a_row_ >= limit_) {
    throw engine::Error(
        engine::ErrorKind::kTraining,
        "NanGuard: " + what +
            (limit_ > 1 ? ", the " + std::to_string(limit_) + ". step in a row"
                        : ""));
  }
  if (trainer_ == nullptr) return;
  trainer_->messages().Add("train/skipped_steps",
                           static_cast<double>(skipped_));
  if (in_a_row_ == 1) {
    trainer_->events().Notice("warning",
                              "NanGuard: " + what + "; the step is left out");
  }
}

void NanGuard::AttachToTraining(engine::TrainingRunner& runner) {
  runner.on_post_forward.Bind(
      [this](engine::RunnerContext& context) { SeeLoss(context); });
  runner.on_before_optimizer_step.Bind([this](engine::RunnerContext& context) {
    SeeGradients(context, *context.update);
  });
}

void NanGuard::AttachToGan(engine::GanTrainingRunner& runner) {
  runner.on_post_d_forward.Bind(
      [this](engine::GanContext& context) { SeeLoss(context); });
  runner.on_before_d_step.Bind([this](engine::GanContext& context) {
    SeeGradients(context, *context.discriminator_update);
  });
  runner.on_post_g_forward.Bind(
      [this](engine::GanContext& context) { SeeLoss(context); });
  runner.on_before_g_step.Bind([this](engine::GanContext& context) {
    SeeGradients(context, *context.generator_update);
  });
}

nlohmann::ordered_json NanGuard::State() const {
  return {{"in_a_row", in_a_row_}, {"skipped", skipped_}};
}

void NanGuard::LoadState(const nlohmann::ordered_json& state) {
  in_a_row_ = state.value("in_a_row", int64_t{0});
  skipped_ = state.value("skipped", int64_t{0});
}

engine::Entry<engine::Hook> NanGuardEntry() {
  return {{.kind = "hook",
           .name = "NanGuard",
           .help = "leaves out steps whose loss or gradients are not finite",
           .parameters = {{.name = "limit",
                           .type = "int",
                           .default_value = 1,
                           .min = 0,
                           .help = "such steps in a row that end the "
                                   "training; 0: never"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<NanGuard>(params.Int("limit"));
          }};
}

}  // namespace epochd::hooks
