// SPDX-License-Identifier: Apache-2.0
#include "hooks/model_summary.h"

#include <ATen/core/Tensor.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "worker/engine/core/error.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/prediction_runner.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"
#include "worker/engine/loop/validation_runner.h"
#include "worker/engine/model/model_summary.h"

namespace epochd::hooks {
namespace {

engine::Batch FirstSample(const engine::Batch& batch) {
  engine::Batch first;
  for (const auto& [name, tensor] : batch) {
    first.Set(name, tensor.dim() == 0 ? tensor : tensor.narrow(0, 0, 1));
  }
  return first;
}

}  // namespace

void ModelSummaryHook::AttachToTrainer(engine::Trainer& trainer) {
  if (trainer.is_main_rank()) trainer_ = &trainer;
}

void ModelSummaryHook::AttachToTraining(engine::TrainingRunner& runner) {
  runner.on_pre_step.Bind(
      [this](engine::RunnerContext& context) { Tell(context); });
}

void ModelSummaryHook::AttachToGan(engine::GanTrainingRunner& runner) {
  runner.on_pre_step.Bind(
      [this](engine::GanContext& context) { Tell(context); });
}

void ModelSummaryHook::AttachToValidation(engine::ValidationRunner& runner) {
  runner.on_pre_step.Bind(
      [this](engine::RunnerContext& context) { Tell(context); });
}

void ModelSummaryHook::AttachToPrediction(engine::PredictionRunner& runner) {
  runner.on_pre_step.Bind(
      [this](engine::PredictionContext& context) { Tell(context); });
}

void ModelSummaryHook::Tell(const engine::RunnerContext& context) {
  if (trainer_ == nullptr) return;
  engine::Trainer& trainer = *trainer_;
  trainer_ = nullptr;
  engine::ModelSummary summary;
  try {
    summary = engine::Summarize(*context.model, FirstSample(*context.entry),
                                /*training=*/context.phase == "train");
  } catch (const std::exception& error) {
    // Such as a model that wants more than one sample: nothing to fail for.
    const std::string reason = error.what();
    trainer.events().Notice(
        "warning", "ModelSummary: " + reason.substr(0, reason.find('\n')));
    return;
  }
  const std::string table = summary.Table();
  std::fprintf(stderr, "%s", table.c_str());
  trainer.events().Notice("info", "model: " + summary.Totals());
  const std::string& folder = trainer.environment().output_dir;
  if (folder.empty()) return;
  const std::string path = folder + "/model_summary.txt";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::ofstream file(path);
  file << table;
  file.flush();
  if (!file) {
    trainer.events().Notice("warning", "\"" + path + "\": cannot write");
    return;
  }
  trainer.AddOutput("model_summary", path);
}

engine::Entry<engine::Hook> ModelSummaryEntry() {
  return {{.kind = "hook",
           .name = "ModelSummary",
           .help = "writes the model's layers, shapes, parameters and "
                   "multiply-adds to the log and to model_summary.txt"},
          [](const engine::Params&) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<ModelSummaryHook>();
          }};
}

}  // namespace epochd::hooks
