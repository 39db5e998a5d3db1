// SPDX-License-Identifier: Apache-2.0
//
// LearningRateMonitor: puts each optimizer's learning rate into the message hub
// before each step, as MetricLogger shows it at steps and epochs:
// learning_rate, with _generator and _discriminator in GAN training.
#pragma once

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class LearningRateMonitor : public engine::Hook {
 public:
  const char* name() const override { return "LearningRateMonitor"; }
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
