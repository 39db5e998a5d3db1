// SPDX-License-Identifier: Apache-2.0
//
// LearningRateMonitor: puts learning rates, and momenta where there are such,
// into the message hub before each step, as MetricLogger shows them at steps
// and epochs: learning_rate and momentum, with _generator and _discriminator in
// GAN training, and with /<group> where an optimizer has several groups.
#pragma once

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class LearningRateMonitor : public engine::Hook {
 public:
  const char* name() const override { return "LearningRateMonitor"; }
  bool may_stop() const override { return false; }
  void AttachToTrainer(engine::Trainer& trainer) override {
    trainer_ = &trainer;
  }
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  void See();

  engine::Trainer* trainer_ = nullptr;
};

engine::Entry<engine::Hook> LearningRateMonitorEntry();

}  // namespace epochd::hooks
