// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/adversarial.h"

#include <ATen/ATen.h>

#include "worker/engine/loss/fields.h"

namespace epochd::engine {
namespace {

// bce(x, label) with one label for all; needs no target tensor:
// bce(x, y) = softplus(x) - x y.
at::Tensor Bce(const at::Tensor& scores, double label) {
  if (label == 1.0) return -at::log_sigmoid(scores);
  if (label == 0.0) return -at::log_sigmoid(-scores);
  return -at::log_sigmoid(-scores) - scores * label;
}

}  // namespace

at::Tensor GanDiscriminatorLoss::Compute(const Batch& batch) const {
  const auto [real, fake, weights] =
      ReadScores(batch, options_.fields, options_.weighing);
  switch (options_.rule) {
    case GanRule::kVanilla:
      return (MeanScore(Bce(real, options_.real_label), weights) +
              MeanScore(Bce(fake, options_.fake_label), weights)) *
             0.5;
    case GanRule::kLsgan:
      return (MeanScore((real - options_.real_label).square(), weights) +
              MeanScore((fake - options_.fake_label).square(), weights)) *
             0.5;
    case GanRule::kHinge:
      return MeanScore(at::relu(1 - real), weights) +
             MeanScore(at::relu(1 + fake), weights);
    case GanRule::kWgan:
      break;
  }
  return MeanScore(fake, weights) - MeanScore(real, weights);
}

at::Tensor GanGeneratorLoss::Compute(const Batch& batch) const {
  const at::Tensor given = AtLeastFloat(batch.At(options_.fields.fake));
  const at::Tensor weights =
      WeightsOf(batch, options_.weighing, given.sizes(), given.scalar_type());
  const at::Tensor fake = Blanked(given, weights);
  switch (options_.rule) {
    case GanRule::kVanilla:
      return MeanScore(Bce(fake, options_.real_label), weights);
    case GanRule::kLsgan:
      return MeanScore((fake - options_.real_label).square(), weights);
    case GanRule::kHinge:
    case GanRule::kWgan:
      break;
  }
  return -MeanScore(fake, weights);
}

}  // namespace epochd::engine
