// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/psnr.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace epochd::engine {

void Psnr::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const auto [output, target] = SameShape(batch, options_.fields);
  const int64_t samples = output.dim() == 0 ? 1 : output.size(0);
  if (samples == 0) return;
  const at::Tensor error = (output - target)
                               .to(at::kDouble)
                               .square_()
                               .reshape({samples, -1})
                               .mean(1);
  // Kept as 10 (log10(range^2) - log10(mse)), which needs no division.
  const at::Tensor sum = error.log10_().sum().mul_(-10.0).add_(
      20.0 * std::log10(options_.data_range) * static_cast<double>(samples));
  Add(sum, samples);
}

}  // namespace epochd::engine
