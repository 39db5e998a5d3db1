// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/psnr.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>

namespace epochd::engine {

void Psnr::Reset() {
  decibels_.reset();
  count_ = 0;
}

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
  count_ += samples;
  decibels_ = decibels_.defined() ? decibels_.add_(sum) : sum;
}

at::Tensor Psnr::Sums() const {
  const double decibels = decibels_.defined() ? decibels_.item<double>() : 0.0;
  return at::tensor({decibels, static_cast<double>(count_)}, at::kDouble);
}

std::vector<std::pair<std::string, double>> Psnr::Values(
    const at::Tensor& sums) const {
  const double* sum = sums.const_data_ptr<double>();
  return {{options_.name, sum[1] > 0
                              ? sum[0] / sum[1]
                              : std::numeric_limits<double>::quiet_NaN()}};
}

}  // namespace epochd::engine
