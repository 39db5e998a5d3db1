// SPDX-License-Identifier: Apache-2.0
#include "hooks/prediction_writer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "hooks/csv_cell.h"
#include "hooks/image_grid.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/prediction_runner.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::hooks {
namespace {

// What `mask` [B, 1, H, W] marks of an image [1, C, H, W], or one larger by a
// whole factor, of sample `row`: padding is at the bottom and at the right.
at::Tensor WithoutPadding(const at::Tensor& image, const at::Tensor& mask,
                          int64_t row) {
  if (mask.dim() != 4 || mask.numel() == 0) return image;
  const int64_t factor = image.size(2) / mask.size(2);
  if (factor < 1 || image.size(2) != factor * mask.size(2) ||
      image.size(3) != factor * mask.size(3)) {
    return image;
  }
  const at::Tensor real = mask[row][0].to(at::kBool);
  if (!real.any().item<bool>()) return image;
  const auto end = [&](int64_t across) {
    return (real.any(across).nonzero().max().item<int64_t>() + 1) * factor;
  };
  return image.slice(2, 0, end(1)).slice(3, 0, end(0));
}

// Which sample is which, where they have names.
void WriteNames(const engine::Dataset& dataset, const std::string& folder) {
  std::string text = "index,name\n";
  bool has_names = false;
  for (int64_t i = 0; i < dataset.Size(); ++i) {
    const std::string name = dataset.SampleName(i);
    has_names |= !name.empty();
    text += std::to_string(i) + "," + QuotedCell(name) + "\n";
  }
  if (!has_names) return;
  const std::string path = folder + "/samples.csv";
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.flush();
  if (!file) {
    throw engine::Error(engine::ErrorKind::kInfrastructure,
                        "\"" + path + "\": cannot write predictions");
  }
}

}  // namespace

void PredictionWriter::AttachToTrainer(engine::Trainer& trainer) {
  if (trainer.environment().output_dir.empty()) return;
  trainer_ = &trainer;
}

void PredictionWriter::AttachToPrediction(engine::PredictionRunner& runner) {
  if (trainer_ == nullptr) return;
  const std::string folder =
      trainer_->environment().output_dir + "/predictions";
  if (!options_.format) {
    runner.on_post_step.Bind(
        [this, folder, &runner](engine::PredictionContext& context) {
          WriteImages(folder, context, context.entry->Find(runner.mask()));
        });
    return;
  }
  runner.on_epoch_start.Bind([this, folder](engine::PredictionContext&) {
    file_ = std::make_unique<PredictionFile>(folder, *options_.format);
  });
  runner.on_post_step.Bind([this](engine::PredictionContext& context) {
    file_->Add(context.outputs, context.indices);
  });
}

void PredictionWriter::WriteImages(const std::string& folder,
                                   const engine::PredictionContext& context,
                                   const at::Tensor* mask) const {
  for (const auto& [field, images] : context.outputs) {
    if (images.dim() != 4 || (images.size(1) != 1 && images.size(1) != 3)) {
      throw engine::Error(engine::ErrorKind::kBadSpec,
                          "predictions: field \"" + field + "\" is of shape " +
                              c10::str(images.sizes()) +
                              "; [n, 1 or 3, height, width] is needed for png");
    }
    std::string name = field;
    std::replace(name.begin(), name.end(), '/', '_');
    const std::filesystem::path of_field = std::filesystem::path(folder) / name;
    std::error_code error;
    std::filesystem::create_directories(of_field, error);
    // Bytes are grey levels already.
    const auto range = images.scalar_type() == at::kByte ? std::pair(0.0, 255.0)
                                                         : options_.range;
    for (size_t i = 0; i < context.indices.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      char file_name[32];
      std::snprintf(file_name, sizeof(file_name), "%06lld.png",
                    static_cast<long long>(context.indices[i]));
      const std::string path = of_field / file_name;
      std::ofstream file(path, std::ios::binary);
      at::Tensor image = images.slice(0, row, row + 1);
      if (mask != nullptr) image = WithoutPadding(image, *mask, row);
      file << EncodePng(MakeGrid(image, 1, range));
      file.flush();
      if (!file) {
        throw engine::Error(engine::ErrorKind::kInfrastructure,
                            "\"" + path + "\": cannot write predictions");
      }
    }
  }
}

void PredictionWriter::Finalize(engine::TrainerContext&,
                                engine::RunResult result) {
  const std::unique_ptr<PredictionFile> file = std::move(file_);
  if (trainer_ == nullptr || trainer_->predict() == nullptr ||
      result != engine::RunResult::kSuccess) {
    return;
  }
  int64_t rows = 0;
  if (file != nullptr) {
    for (const std::string& each : trainer_->environment().communicator->Gather(
             std::to_string(file->rows()))) {
      rows = std::max<int64_t>(rows, std::stoll(each));
    }
  }
  if (!trainer_->is_main_rank()) return;
  const std::string folder =
      trainer_->environment().output_dir + "/predictions";
  if (file != nullptr) file->Finish(rows);
  if (!std::filesystem::exists(folder)) return;
  if (const engine::Dataset* dataset = trainer_->predict()->dataset()) {
    WriteNames(*dataset, folder);
  }
  trainer_->AddOutput("prediction_files", folder);
}

engine::Entry<engine::Hook> PredictionWriterEntry() {
  return {{.kind = "hook",
           .name = "PredictionWriter",
           .help = "writes predictions, in the order of the data set",
           .parameters = {{.name = "format",
                           .type = "string",
                           .default_value = "npy",
                           .choices = {"npy", "safetensors", "csv", "png"},
                           .help = "a file for each field; all in one; a row "
                                   "for each sample; an image for each sample, "
                                   "of any size"},
                          {.name = "range",
                           .type = "list<float>",
                           .default_value = {0.0, 1.0},
                           .min_items = 2,
                           .max_items = 2,
                           .order = catalogue::Parameter::Order::kRising,
                           .help = "values that are black and white in png, "
                                   "but of bytes"}},
           .one_of = "PredictionWriter of {format}"},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            const std::string format = params.String("format");
            const std::vector<double> range = params.Floats("range");
            PredictionWriter::Options options;
            options.range = {range[0], range[1]};
            options.format = PredictionFile::Format::kSafetensors;
            if (format == "npy") options.format = PredictionFile::Format::kNpy;
            if (format == "csv") options.format = PredictionFile::Format::kCsv;
            if (format == "png") options.format = std::nullopt;
            return std::make_shared<PredictionWriter>(options);
          }};
}

}  // namespace epochd::hooks
