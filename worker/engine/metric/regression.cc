// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/regression.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace epochd::engine {

void ErrorMetric::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const auto [output, target] = SameShape(batch, options_.fields);
  // A sample's own ratio does not know its weight.
  Weighing weighing = options_.weighing;
  at::Tensor of_samples;
  if (options_.per_sample) {
    of_samples = SampleWeights(batch, weighing, output.sizes());
    weighing.sample_weight.clear();
  }
  const at::Tensor weights =
      WeightsOf(batch, weighing, output.sizes(), at::kDouble);
  const at::Tensor truth = Blanked(target.to(at::kDouble), weights);
  const at::Tensor difference =
      Blanked(output.to(at::kDouble), weights) - truth;
  at::Tensor error =
      options_.kind == Kind::kMae ? difference.abs() : difference.square();
  if (weights.defined()) error = error * weights;
  if (options_.kind != Kind::kRelativeL2) {
    if (weights.defined()) {
      Add(error.sum(), TotalOf(weights, error.sizes()));
    } else {
      Add(error.sum(), error.numel());
    }
    return;
  }
  at::Tensor size = truth.square();
  if (weights.defined()) size = size * weights;
  if (!options_.per_sample) {
    Add(error.sum(), size.sum());
    return;
  }
  const int64_t samples = error.dim() == 0 ? 1 : error.size(0);
  if (samples == 0) return;
  const at::Tensor sizes = size.reshape({samples, -1}).sum(1);
  const at::Tensor ratios =
      SafeRatio(error.reshape({samples, -1}).sum(1), sizes).sqrt();
  at::Tensor own = sizes.gt(0).to(at::kDouble);
  if (of_samples.defined()) own = own * of_samples;
  Add((Blanked(ratios, own) * own).sum(), own.sum());
}

double ErrorMetric::Finish(double mean) const {
  const bool has_root =
      options_.kind == Kind::kRmse ||
      (options_.kind == Kind::kRelativeL2 && !options_.per_sample);
  return has_root ? std::sqrt(mean) : mean;
}

}  // namespace epochd::engine
