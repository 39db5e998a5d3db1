// SPDX-License-Identifier: Apache-2.0
//
// ModelSummary: a table of the model's layers with shapes, parameters and
// multiply-adds for one sample of the first batch, written to rank 0's log and
// to <output>/model_summary.txt. Leaves no trace in the training: evaluation
// mode, no gradients, chance put back.
#pragma once

#include "worker/engine/core/batch.h"
#include "worker/engine/core/model.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class ModelSummaryHook : public engine::Hook {
 public:
  const char* name() const override { return "ModelSummary"; }
  bool may_stop() const override { return false; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;
  void AttachToValidation(engine::ValidationRunner& runner) override;
  void AttachToPrediction(engine::PredictionRunner& runner) override;

 private:
  void Tell(const engine::RunnerContext& context);

  engine::Trainer* trainer_ = nullptr;  // nullptr: nothing to tell
};

engine::Entry<engine::Hook> ModelSummaryEntry();

}  // namespace epochd::hooks
