// SPDX-License-Identifier: Apache-2.0
#include "hooks/gradient_clip.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

void Clip(const std::vector<engine::NamedTensor>& parameters, double max_norm) {
  c10::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const engine::NamedTensor& each : parameters) {
    if (each.tensor.grad().defined()) gradients.push_back(each.tensor.grad());
  }
  if (gradients.empty()) return;
  const at::Tensor norm =
      at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
  // Stays on the device: no value is read, so nothing waits.
  const at::Tensor factor = at::clamp(max_norm / (norm + 1e-6), {}, 1.0);
  for (at::Tensor& gradient : gradients) gradient.mul_(factor);
}

}  // namespace

void GradientClip::AttachToTraining(engine::TrainingRunner& runner) {
  if (target_ != Target::kAll) return;
  runner.on_post_backward.Bind(
      [max_norm = max_norm_](engine::RunnerContext& context) {
        Clip(context.optimizer->parameters(), max_norm);
      });
}

void GradientClip::AttachToGan(engine::GanTrainingRunner& runner) {
  if (target_ != Target::kGenerator) {
    runner.on_post_d_backward.Bind(
        [max_norm = max_norm_](engine::GanContext& context) {
          Clip(context.discriminator_optimizer->parameters(), max_norm);
        });
  }
  if (target_ != Target::kDiscriminator) {
    runner.on_post_g_backward.Bind(
        [max_norm = max_norm_](engine::GanContext& context) {
          Clip(context.generator_optimizer->parameters(), max_norm);
        });
  }
}

engine::Entry<engine::Hook> GradientClipEntry() {
  return {{.kind = "hook",
           .name = "GradientClip",
           .help = "limits the norm of gradients",
           .parameters = {{.name = "max_norm",
                           .type = "float",
                           .default_value = 1.0,
                           .min = 0,
                           .exclusive_min = true,
                           .help = "largest L2 norm over all parameters"},
                          {.name = "target",
                           .type = "string",
                           .default_value = "all",
                           .choices = {"all", "D", "G"},
                           .help = "side of a GAN"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            const std::string target = params.String("target");
            return std::make_shared<GradientClip>(
                params.Float("max_norm"),
                target == "D"   ? GradientClip::Target::kDiscriminator
                : target == "G" ? GradientClip::Target::kGenerator
                                : GradientClip::Target::kAll);
          }};
}

}  // namespace epochd::hooks
