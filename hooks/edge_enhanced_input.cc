// SPDX-License-Identifier: Apache-2.0
#include "hooks/edge_enhanced_input.h"

#include <ATen/ATen.h>

#include "worker/engine/core/error.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/prediction_runner.h"
#include "worker/engine/loop/training_runner.h"
#include "worker/engine/loop/validation_runner.h"

namespace epochd::hooks {
namespace {

at::Tensor Gray(const at::Tensor& images) {
  if (images.size(1) == 1) return images;
  if (images.size(1) != 3) return images.mean(1, /*keepdim=*/true);
  const at::Tensor weights =
      at::tensor({0.299, 0.587, 0.114}, images.options()).view({1, 3, 1, 1});
  return (images * weights).sum(1, /*keepdim=*/true);
}

// Channels that the first convolution takes; 0: there is none.
int64_t InputChannels(const engine::Model& discriminator) {
  for (const engine::NamedTensor& each : discriminator.Parameters()) {
    if (each.tensor.dim() == 4) return each.tensor.size(1);
  }
  return 0;
}

}  // namespace

at::Tensor WithEdges(const at::Tensor& images) {
  if (images.dim() != 4) {
    throw engine::Error(engine::ErrorKind::kBadSpec,
                        "EdgeEnhancedInput: images of shape " +
                            c10::str(images.sizes()) +
                            "; [n, channels, height, width] is accepted");
  }
  const at::Tensor laplacian =
      at::tensor({0.0, 1.0, 0.0, 1.0, -4.0, 1.0, 0.0, 1.0, 0.0},
                 images.options())
          .view({1, 1, 3, 3});
  const at::Tensor edges = at::conv2d(Gray(images), laplacian, {}, /*stride=*/1,
                                      /*padding=*/1);
  return at::cat({images, edges}, 1);
}

void EdgeEnhancedInput::Enhance(engine::Model& model,
                                engine::Batch& batch) const {
  // A generator's input is none of it.
  if (dynamic_cast<engine::AdversarialModel*>(&model) != nullptr) return;
  const Fields usual = {{"input", "input"}};
  for (const auto& [source, destination] : fields_.empty() ? usual : fields_) {
    batch.Set(destination, WithEdges(batch.At(source)));
  }
}

void EdgeEnhancedInput::AttachToTraining(engine::TrainingRunner& runner) {
  runner.on_pre_step.Bind([this](engine::RunnerContext& context) {
    Enhance(*context.model, *context.entry);
  });
}

void EdgeEnhancedInput::AttachToValidation(engine::ValidationRunner& runner) {
  runner.on_pre_step.Bind([this](engine::RunnerContext& context) {
    Enhance(*context.model, *context.entry);
  });
}

void EdgeEnhancedInput::AttachToPrediction(engine::PredictionRunner& runner) {
  runner.on_pre_step.Bind([this](engine::PredictionContext& context) {
    Enhance(*context.model, *context.entry);
  });
}

void EdgeEnhancedInput::EnhanceForGan(engine::GanContext& context) const {
  const int64_t wanted = InputChannels(context.gan->discriminator());
  const Fields usual = {{"real", "real"}, {"fake", "fake"}};
  for (const auto& [source, destination] : fields_.empty() ? usual : fields_) {
    const at::Tensor* there = context.entry->Find(destination);
    if (there != nullptr && there->dim() == 4 && there->size(1) == wanted) {
      continue;
    }
    context.entry->Set(destination, WithEdges(context.entry->At(source)));
  }
}

void EdgeEnhancedInput::AttachToGan(engine::GanTrainingRunner& runner) {
  runner.on_pre_d_forward.Bind(
      [this](engine::GanContext& context) { EnhanceForGan(context); });
  runner.on_pre_g_forward.Bind(
      [this](engine::GanContext& context) { EnhanceForGan(context); });
}

engine::Entry<engine::Hook> EdgeEnhancedInputEntry() {
  return {
      {.kind = "hook",
       .name = "EdgeEnhancedInput",
       .help = "shows a model, of a GAN the discriminator, edges as one more "
               "channel",
       .parameters = {{.name = "src_to_dst",
                       .type = "map<string>",
                       .help = "source field to destination; by default "
                               "input, of a GAN real and fake, grow in "
                               "place"}}},
      [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
        EdgeEnhancedInput::Fields fields;
        if (params.Has("src_to_dst")) {
          for (const auto& [source, destination] :
               params.Raw("src_to_dst").items()) {
            fields.emplace_back(source, destination.get<std::string>());
          }
        }
        return std::make_shared<EdgeEnhancedInput>(std::move(fields));
      }};
}

}  // namespace epochd::hooks
