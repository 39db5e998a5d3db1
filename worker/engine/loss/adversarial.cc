// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/adversarial.h"

#include <ATen/ATen.h>

#include "worker/engine/loss/fields.h"

namespace epochd::engine {
namespace {

// Mean of bce(x, label) with one label for all; needs no target tensor:
// bce(x, y) = softplus(x) - x y.
at::Tensor MeanBce(const at::Tensor& scores, double label) {
  if (label == 1.0) return -at::log_sigmoid(scores).mean();
  if (label == 0.0) return -at::log_sigmoid(-scores).mean();
  return (-at::log_sigmoid(-scores) - scores * label).mean();
}

}  // namespace

at::Tensor GanDiscriminatorLoss::Compute(const Batch& batch) const {
  const auto [real, fake] = ReadScores(batch, options_.fields);
  switch (options_.rule) {
    case GanRule::kVanilla:
      return (MeanBce(real, options_.real_label) +
              MeanBce(fake, options_.fake_label)) *
             0.5;
    case GanRule::kLsgan:
      return ((real - options_.real_label).square().mean() +
              (fake - options_.fake_label).square().mean()) *
             0.5;
    case GanRule::kHinge:
      return at::relu(1 - real).mean() + at::relu(1 + fake).mean();
    case GanRule::kWgan:
      break;
  }
  return fake.mean() - real.mean();
}

at::Tensor GanGeneratorLoss::Compute(const Batch& batch) const {
  const at::Tensor fake = AtLeastFloat(batch.At(options_.fields.fake));
  switch (options_.rule) {
    case GanRule::kVanilla:
      return MeanBce(fake, options_.real_label);
    case GanRule::kLsgan:
      return (fake - options_.real_label).square().mean();
    case GanRule::kHinge:
    case GanRule::kWgan:
      break;
  }
  return -fake.mean();
}

}  // namespace epochd::engine
