// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/similarity.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace epochd::engine {

void Similarity::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  auto [output, target, weights, of_samples] = ReadImages(batch, options_);
  // Variances are small differences of large numbers.
  output = output.to(at::kDouble);
  target = target.to(at::kDouble);
  if (weights.defined()) weights = weights.to(at::kDouble);
  const auto [values, of_images] =
      options_.multi_scale
          ? MultiScaleSsim(output, target, weights, options_.ssim)
          : Ssim(output, target, weights, options_.ssim);
  if (!of_images.defined() && !of_samples.defined()) {
    Add(values.sum(), values.size(0));
    return;
  }
  at::Tensor own = of_images.defined() ? of_images.gt(0).to(at::kDouble)
                                       : at::ones_like(values);
  if (of_samples.defined()) own = own * of_samples;
  Add((Blanked(values, own) * own).sum(), own.sum());
}

}  // namespace epochd::engine
