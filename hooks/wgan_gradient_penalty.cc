// SPDX-License-Identifier: Apache-2.0
#include "hooks/wgan_gradient_penalty.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/loop/gan_training_runner.h"

namespace epochd::hooks {
namespace {

at::Tensor PointsBetween(const at::Tensor& real, const at::Tensor& fake) {
  if (real.sizes() != fake.sizes()) {
    throw engine::Error(
        engine::ErrorKind::kTraining,
        "WganGradientPenalty: \"fake\" has " + std::to_string(fake.numel()) +
            " values in another shape than \"real\" with " +
            std::to_string(real.numel()) + "; the same shape is accepted");
  }
  // One share for all values of a sample, from the generator that the run seeds
  // and checkpoints keep.
  std::vector<int64_t> shape(static_cast<size_t>(real.dim()), 1);
  shape[0] = real.size(0);
  const at::Tensor share = at::rand(shape, real.options());
  return share * real + (1 - share) * fake;
}

}  // namespace

void WganGradientPenalty::AttachToGan(engine::GanTrainingRunner& runner) {
  if (weight_ == 0) return;
  runner.on_post_d_forward.Bind([weight =
                                     weight_](engine::GanContext& context) {
    const at::Tensor points = PointsBetween(context.entry->At("real").detach(),
                                            context.entry->At("fake").detach())
                                  .requires_grad_(true);
    const at::Tensor score = context.gan->Discriminate(points).sum();
    const at::Tensor gradient =
        torch::autograd::grad({score}, {points}, {}, /*retain_graph=*/true,
                              /*create_graph=*/true)[0];
    const at::Tensor length = gradient.flatten(1).norm(2, 1);
    context.d_extra_losses.emplace_back("gradient_penalty",
                                        (length - 1).square().mean() * weight);
  });
}

engine::Entry<engine::Hook> WganGradientPenaltyEntry() {
  return {
      {.kind = "hook",
       .name = "WganGradientPenalty",
       .aliases = {"WGANGPGradientPenalty", "GradientPenalty"},
       .help = "keeps the discriminator's slope near 1 between real and "
               "fake images, as WGAN-GP",
       .parameters = {{.name = "weight",
                       .type = "float",
                       .default_value = 10.0,
                       .min = 0,
                       .help = "factor of the penalty; 0: none"}}},
      [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
        return std::make_shared<WganGradientPenalty>(params.Float("weight"));
      }};
}

}  // namespace epochd::hooks
