// SPDX-License-Identifier: Apache-2.0
#include "hooks/batch_image_saver.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "hooks/image_grid.h"
#include "worker/engine/core/error.h"
#include "worker/engine/core/seed.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::hooks {
namespace {

// Lends the default generator a stream of its own.
class OwnStream {
 public:
  explicit OwnStream(uint64_t seed)
      : generator_(at::globalContext().defaultGenerator(at::kCPU)),
        saved_(generator_.get_state()) {
    generator_.set_current_seed(seed);
  }
  ~OwnStream() { generator_.set_state(saved_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

 private:
  at::Generator generator_;
  at::Tensor saved_;
};

}  // namespace

bool BatchImageSaver::IsDue(int64_t epoch) const {
  return trainer_ != nullptr && ((epoch + 1) % options_.every_epochs == 0 ||
                                 epoch + 1 == trainer_->epochs());
}

void BatchImageSaver::AttachToTrainer(engine::Trainer& trainer) {
  const std::string& output = trainer.environment().output_dir;
  if (!trainer.is_main_rank() || output.empty()) return;
  trainer_ = &trainer;
  if (options_.tensorboard) {
    trainer.AddOutput("tensorboard", output + "/tensorboard");
    event_file_ =
        std::make_unique<EventFile>(output + "/tensorboard", ".images");
  } else {
    trainer.AddOutput("images", output + "/images");
  }
  trainer.on_validation_began.Bind([this](engine::TrainerContext& context) {
    is_mid_epoch_ = context.is_mid_epoch;
  });
  trainer.on_epoch_finished.Bind([this](engine::TrainerContext& context) {
    auto* gan =
        dynamic_cast<engine::AdversarialModel*>(&context.trainer->model());
    if (is_gan_ && gan != nullptr && IsDue(context.epoch)) {
      Sample(*gan, context.epoch);
    }
  });
}

void BatchImageSaver::AttachToGan(engine::GanTrainingRunner& runner) {
  is_gan_ = true;
  runner.on_post_step.Bind([this](engine::GanContext& context) {
    if (trainer_ == nullptr) return;
    // Of a run that goes on within an epoch: the first that comes.
    if (context.batch != 0 && has_condition_) return;
    has_condition_ = true;
    condition_ = engine::Batch();
    for (const auto& [name, value] : *context.entry) {
      if (!value.requires_grad()) {
        condition_.Set(name, value.slice(0, 0, options_.count));
      }
    }
  });
}

void BatchImageSaver::Sample(engine::AdversarialModel& model, int64_t epoch) {
  c10::NoGradGuard no_grad;
  const OwnStream stream(engine::HashSeed32({0x5a4d504c45u}));
  model.SetTraining(false);
  const at::Tensor images = model.Generate(condition_, options_.count);
  model.SetTraining(true);
  Write(images, epoch);
}

void BatchImageSaver::AttachToValidation(engine::ValidationRunner& runner) {
  runner.on_post_step.Bind([this](engine::RunnerContext& context) {
    if (context.batch != 0 || is_gan_ || !IsDue(context.epoch)) return;
    Write(context.entry->At(options_.field).slice(0, 0, options_.count),
          context.epoch);
  });
}

void BatchImageSaver::Write(const at::Tensor& images, int64_t epoch) {
  const at::Tensor grid = MakeGrid(images, options_.columns, options_.range);
  const std::string png = EncodePng(grid);
  if (event_file_) {
    const double time = std::chrono::duration<double>(
                            std::chrono::system_clock::now().time_since_epoch())
                            .count();
    if (!event_file_->AddImage(time, trainer_->position().step,
                               is_gan_ ? "generated" : options_.field,
                               grid.size(1), grid.size(2), grid.size(0), png)) {
      trainer_->events().Notice("warning",
                                "\"" + trainer_->environment().output_dir +
                                    "/tensorboard\": cannot write");
    }
    return;
  }
  const std::string folder = trainer_->environment().output_dir + "/images";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  char name[64];
  std::snprintf(name, sizeof(name), "/epoch-%04lld",
                static_cast<long long>(epoch + 1));
  std::string path = folder + name;
  if (is_mid_epoch_ && !is_gan_) {
    std::snprintf(name, sizeof(name), "-iteration-%06lld",
                  static_cast<long long>(trainer_->position().global_batch));
    path += name;
  }
  path += ".png";
  std::ofstream file(path, std::ios::binary);
  file << png;
  file.flush();
  if (!file) {
    trainer_->events().Notice("warning", "\"" + path + "\": cannot write");
  }
}

namespace {

std::vector<catalogue::Parameter> ImageParameters() {
  return {
      {.name = "every",
       .type = "every",
       .default_value = "1 epoch",
       .choices = {"epochs"},
       .help = "n epochs"},
      {.name = "count",
       .type = "int",
       .default_value = 64,
       .min = 1,
       .max = 4096,
       .help = "images of a grid"},
      {.name = "columns",
       .type = "int",
       .default_value = 8,
       .min = 1,
       .help = "images beside each other"},
      {.name = "field",
       .type = "string",
       .default_value = "output",
       .help = "of validation batches; not used for a GAN"},
      {.name = "range",
       .type = "list<float>",
       .min_items = 2,
       .max_items = 2,
       .order = catalogue::Parameter::Order::kRising,
       .help = "values that are black and white; the least and the greatest "
               "by default"}};
}

BatchImageSaver::Options ReadImageOptions(const engine::Params& params) {
  BatchImageSaver::Options options;
  const auto every = catalogue::ParseEvery(params.String("every"));
  options.every_epochs = *every->epochs;
  options.count = params.Int("count");
  options.columns = params.Int("columns");
  options.field = params.String("field");
  if (params.Has("range")) {
    const std::vector<double> range = params.Floats("range");
    options.range = std::pair(range[0], range[1]);
  }
  return options;
}

}  // namespace

engine::Entry<engine::Hook> BatchImageSaverEntry() {
  return {{.kind = "hook",
           .name = "BatchImageSaver",
           .help = "saves images as PNG grids",
           .parameters = ImageParameters()},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<BatchImageSaver>(ReadImageOptions(params));
          }};
}

engine::Entry<engine::Hook> BatchImageLoggerEntry() {
  return {{.kind = "hook",
           .name = "BatchImageLogger",
           .help = "shows images in TensorBoard",
           .parameters = ImageParameters()},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            BatchImageSaver::Options options = ReadImageOptions(params);
            options.tensorboard = true;
            return std::make_shared<BatchImageSaver>(std::move(options));
          }};
}

}  // namespace epochd::hooks
