// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/ragan.h"

#include <ATen/ATen.h>

namespace epochd::engine {
namespace {

// Gives minus the mean of bce(x, 1), x = left - right; bce(x, 0) = bce(-x, 1).
// log_sigmoid keeps its precision at both ends and needs no target tensor.
at::Tensor MeanLogSigmoid(const at::Tensor& left, const at::Tensor& right) {
  return at::log_sigmoid(left - right).mean();
}

}  // namespace

RaGanDiscriminatorLoss::RaGanDiscriminatorLoss(Options options)
    : options_(std::move(options)) {
  set_weight(options_.weight);
}

at::Tensor RaGanDiscriminatorLoss::Compute(const Batch& batch) const {
  const auto [real, fake] = ReadScores(batch, options_.fields);
  return (MeanLogSigmoid(real, fake.mean()) +
          MeanLogSigmoid(real.mean(), fake)) *
         -0.5;
}

RaGanGeneratorLoss::RaGanGeneratorLoss(Options options)
    : options_(std::move(options)) {
  set_weight(options_.weight);
}

at::Tensor RaGanGeneratorLoss::Compute(const Batch& batch) const {
  const auto [live_real, fake] = ReadScores(batch, options_.fields);
  const at::Tensor real = live_real.detach();
  return (MeanLogSigmoid(fake.mean(), real) +
          MeanLogSigmoid(fake, real.mean())) *
         -0.5;
}

}  // namespace epochd::engine
