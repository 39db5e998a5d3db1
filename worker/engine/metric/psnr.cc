// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/psnr.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace epochd::engine {

void Psnr::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const auto [output, target, weights, of_samples] =
      ReadImages(batch, options_);
  const int64_t samples = output.dim() == 0 ? 1 : output.size(0);
  if (samples == 0) return;
  const at::Tensor squares =
      (Blanked(output, weights) - Blanked(target, weights))
          .to(at::kDouble)
          .square_();
  const double of_range = 20.0 * std::log10(options_.data_range);
  if (!weights.defined() && !of_samples.defined()) {
    const at::Tensor error = squares.reshape({samples, -1}).mean(1);
    // Kept as 10 (log10(range^2) - log10(mse)), which needs no division.
    Add(error.log10_().sum().mul_(-10.0).add_(of_range *
                                              static_cast<double>(samples)),
        samples);
    return;
  }
  const at::Tensor counts = weights.defined()
                                ? weights.expand(squares.sizes())
                                      .to(at::kDouble)
                                      .reshape({samples, -1})
                                : at::ones_like(squares).reshape({samples, -1});
  const at::Tensor total = counts.sum(1);
  const at::Tensor error =
      SafeRatio((squares.reshape({samples, -1}) * counts).sum(1), total);
  at::Tensor own = total.gt(0).to(at::kDouble);
  if (of_samples.defined()) own = own * of_samples;
  const at::Tensor ratios =
      Blanked(error.log10().mul(-10.0).add(of_range), own);
  Add((ratios * own).sum(), own.sum());
}

}  // namespace epochd::engine
