// SPDX-License-Identifier: Apache-2.0
//
// PredictionWriter: writes the outputs of a prediction into
// <output>/predictions/, each sample at its place in the data set, while they
// come: memory stays that of a batch. Every rank writes its own samples; rank
// 0 makes the files at the end. Images, which may be of different sizes, are a
// PNG file each, <field>/<index>.png, without what a mask says is padding.
// Where samples have names, such as paths, samples.csv has a line for each of
// the data set: index,name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "hooks/prediction_file.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class PredictionWriter : public engine::Hook {
 public:
  struct Options {
    // Nothing: PNG.
    std::optional<PredictionFile::Format> format = PredictionFile::Format::kNpy;
    // Values of an image that are black and white.
    std::pair<double, double> range{0, 1};
  };
  explicit PredictionWriter(Options options) : options_(options) {}

  const char* name() const override { return "PredictionWriter"; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToPrediction(engine::PredictionRunner& runner) override;
  // Makes the files of a prediction that came to its end.
  void Finalize(engine::TrainerContext& context,
                engine::RunResult result) override;

 private:
  // `mask`: of what is real; nullptr: there is none.
  void WriteImages(const std::string& folder,
                   const engine::PredictionContext& context,
                   const at::Tensor* mask) const;

  const Options options_;
  engine::Trainer* trainer_ = nullptr;
  std::unique_ptr<PredictionFile> file_;
};

engine::Entry<engine::Hook> PredictionWriterEntry();

}  // namespace epochd::hooks
