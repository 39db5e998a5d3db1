// SPDX-License-Identifier: Apache-2.0
#include "hooks/prediction_writer.h"

#include <algorithm>

#include "worker/engine/loop/prediction_runner.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::hooks {

void PredictionWriter::AttachToTrainer(engine::Trainer& trainer) {
  if (trainer.environment().output_dir.empty()) return;
  trainer_ = &trainer;
}

void PredictionWriter::AttachToPrediction(engine::PredictionRunner& runner) {
  if (trainer_ == nullptr) return;
  const std::string folder =
      trainer_->environment().output_dir + "/predictions";
  runner.on_epoch_start.Bind([this, folder](engine::PredictionContext&) {
    file_ = std::make_unique<PredictionFile>(folder, format_);
  });
  runner.on_post_step.Bind([this](engine::PredictionContext& context) {
    file_->Add(context.outputs, context.indices);
  });
}

void PredictionWriter::Finalize(engine::TrainerContext&,
                                engine::RunResult result) {
  if (file_ == nullptr) return;
  const std::unique_ptr<PredictionFile> file = std::move(file_);
  if (result != engine::RunResult::kSuccess) return;
  int64_t rows = 0;
  for (const std::string& each : trainer_->environment().communicator->Gather(
           std::to_string(file->rows()))) {
    rows = std::max<int64_t>(rows, std::stoll(each));
  }
  if (!trainer_->is_main_rank()) return;
  file->Finish(rows);
  trainer_->AddOutput("predictions",
                      trainer_->environment().output_dir + "/predictions");
}

engine::Entry<engine::Hook> PredictionWriterEntry() {
  return {{.kind = "hook",
           .name = "PredictionWriter",
           .help = "writes predictions, in the order of the data set",
           .parameters = {{.name = "format",
                           .type = "string",
                           .default_value = "npy",
                           .choices = {"npy", "safetensors", "csv"},
                           .help = "a file for each field; all in one; a row "
                                   "for each sample"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            const std::string format = params.String("format");
            return std::make_shared<PredictionWriter>(
                format == "csv"   ? PredictionFile::Format::kCsv
                : format == "npy" ? PredictionFile::Format::kNpy
                                  : PredictionFile::Format::kSafetensors);
          }};
}

}  // namespace epochd::hooks
