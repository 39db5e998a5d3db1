// SPDX-License-Identifier: Apache-2.0
#include "hooks/learning_rate_monitor.h"

#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {

void LearningRateMonitor::See() {
  for (const auto& [name, optimizer] :
       trainer_->training_runner().Optimizers()) {
    const std::string side = name == "optimizer" ? "" : "_" + name;
    const auto& groups = optimizer->groups();
    for (const engine::Optimizer::Group& group : groups) {
      const std::string end =
          side + (groups.size() > 1 ? "/" + group.name : "");
      trainer_->messages().Add("learning_rate" + end, group.lr);
      if (optimizer->has_momentum()) {
        trainer_->messages().Add("momentum" + end, group.momentum);
      }
    }
  }
}

void LearningRateMonitor::AttachToTraining(engine::TrainingRunner& runner) {
  if (trainer_ == nullptr) return;
  runner.on_pre_step.Bind([this](engine::RunnerContext&) { See(); });
}

void LearningRateMonitor::AttachToGan(engine::GanTrainingRunner& runner) {
  if (trainer_ == nullptr) return;
  runner.on_pre_step.Bind([this](engine::GanContext&) { See(); });
}

engine::Entry<engine::Hook> LearningRateMonitorEntry() {
  return {{.kind = "hook",
           .name = "LearningRateMonitor",
           .help = "shows learning rates and momenta at steps"},
          [](const engine::Params&) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<LearningRateMonitor>();
          }};
}

}  // namespace epochd::hooks
