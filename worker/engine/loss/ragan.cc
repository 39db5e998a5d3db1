// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/ragan.h"

#include <ATen/ATen.h>

namespace epochd::engine {
namespace {

// Gives minus the mean of bce(x, 1), x = left - right; bce(x, 0) = bce(-x, 1).
// log_sigmoid keeps its precision at both ends and needs no target tensor.
at::Tensor MeanLogSigmoid(const at::Tensor& left, const at::Tensor& right,
                          const at::Tensor& weights) {
  return MeanScore(at::log_sigmoid(left - right), weights);
}

}  // namespace

at::Tensor RaGanDiscriminatorLoss::Compute(const Batch& batch) const {
  const auto [real, fake, weights] =
      ReadScores(batch, options_.fields, options_.weighing);
  return (MeanLogSigmoid(real, MeanScore(fake, weights), weights) +
          MeanLogSigmoid(MeanScore(real, weights), fake, weights)) *
         -0.5;
}

at::Tensor RaGanGeneratorLoss::Compute(const Batch& batch) const {
  const auto [live_real, fake, weights] =
      ReadScores(batch, options_.fields, options_.weighing);
  const at::Tensor real = live_real.detach();
  return (MeanLogSigmoid(MeanScore(fake, weights), real, weights) +
          MeanLogSigmoid(fake, MeanScore(real, weights), weights)) *
         -0.5;
}

}  // namespace epochd::engine
