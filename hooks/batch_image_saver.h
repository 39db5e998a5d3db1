// SPDX-License-Identifier: Apache-2.0
//
// BatchImageSaver: PNG grids in <output>/images/; as BatchImageLogger the same
// grids as images of a TensorBoard event file. In GAN training samples of
// the generator, from the same latent noise each time, or, where it reads the
// batch, of the epoch's first one; else a field of the first validation batch;
// names of validations within an epoch say the iteration, too. Draws nothing
// from the training's random stream.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "hooks/event_file.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class BatchImageSaver : public engine::Hook {
 public:
  struct Options {
    int64_t every_epochs = 1;
    int64_t count = 64;
    int64_t columns = 8;
    std::string field = "output";
    std::optional<std::pair<double, double>> range;
    bool tensorboard = false;  // else PNG files
  };
  explicit BatchImageSaver(Options options) : options_(std::move(options)) {}

  const char* name() const override {
    return options_.tensorboard ? "BatchImageLogger" : "BatchImageSaver";
  }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToValidation(engine::ValidationRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  bool IsDue(int64_t epoch) const;
  void Sample(engine::AdversarialModel& model, int64_t epoch);
  void Write(const at::Tensor& images, int64_t epoch);

  const Options options_;
  engine::Trainer* trainer_ = nullptr;
  bool is_gan_ = false;
  bool is_mid_epoch_ = false;  // the running validation
  // Fields that a conditional generator may need, of the epoch's first batch
  // that was seen.
  engine::Batch condition_;
  bool has_condition_ = false;
  std::unique_ptr<EventFile> event_file_;
};

engine::Entry<engine::Hook> BatchImageSaverEntry();
engine::Entry<engine::Hook> BatchImageLoggerEntry();

}  // namespace epochd::hooks
