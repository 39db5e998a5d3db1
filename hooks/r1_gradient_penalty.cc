// SPDX-License-Identifier: Apache-2.0
#include "hooks/r1_gradient_penalty.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "worker/engine/loop/gan_training_runner.h"

namespace epochd::hooks {

void R1GradientPenalty::AttachToGan(engine::GanTrainingRunner& runner) {
  if (weight_ == 0) return;
  runner.on_post_d_forward.Bind(
      [weight = weight_](engine::GanContext& context) {
        const at::Tensor real =
            context.entry->At("real").detach().clone().requires_grad_(true);
        const at::Tensor score = context.gan->Discriminate(real).sum();
        const at::Tensor gradient =
            torch::autograd::grad({score}, {real}, {}, /*retain_graph=*/true,
                                  /*create_graph=*/true)[0];
        const at::Tensor penalty = gradient.square().flatten(1).mean(1).mean();
        context.d_extra_losses.emplace_back("r1", penalty * weight);
      });
}

engine::Entry<engine::Hook> R1GradientPenaltyEntry() {
  return {{.kind = "hook",
           .name = "R1GradientPenalty",
           .help = "keeps the discriminator smooth around real images",
           .parameters = {{.name = "weight",
                           .type = "float",
                           .default_value = 0.5,
                           .min = 0,
                           .help = "factor of the penalty; 0: none"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<R1GradientPenalty>(params.Float("weight"));
          }};
}

}  // namespace epochd::hooks
