// SPDX-License-Identifier: Apache-2.0
//
// NanGuard: watches losses and gradients. A step whose loss or gradients are
// not finite is left out; the `limit`-th in a row ends the training with an
// error that names step and batch. Gradients decide, since they are equal on
// all ranks; a loss that is not finite makes them so. With fp16, gradients
// alone do not count: that is how its scale is found. Reading a value waits
// for the device, once a step.
#pragma once

#include <cstdint>
#include <string>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class NanGuard : public engine::Hook {
 public:
  // `limit` 0: never an error.
  explicit NanGuard(int64_t limit) : limit_(limit) {}

  const char* name() const override { return "NanGuard"; }
  bool may_stop() const override { return false; }
  void AttachToTrainer(engine::Trainer& trainer) override {
    trainer_ = &trainer;
  }
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

  int64_t skipped() const { return skipped_; }

 private:
  void SeeLoss(const engine::RunnerContext& context);
  void SeeGradients(engine::RunnerContext& context, engine::Update& update);

  const int64_t limit_;
  engine::Trainer* trainer_ = nullptr;
  bool loss_is_odd_ = false;  // since the last step
  int64_t in_a_row_ = 0;
  int64_t skipped_ = 0;
};

engine::Entry<engine::Hook> NanGuardEntry();

}  // namespace epochd::hooks
