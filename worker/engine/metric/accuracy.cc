// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/accuracy.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <limits>

#include "worker/engine/core/error.h"

namespace epochd::engine {

void TopKAccuracy::Reset() {
  hits_.reset();
  count_ = 0;
}

void TopKAccuracy::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const auto [scores, given] = ClassScores(batch, options_.fields);
  const at::Tensor target =
      given.dim() == scores.dim() ? given.argmax(1) : given;
  at::Tensor hits;
  if (options_.k == 1) {
    hits = scores.argmax(1).eq(target).sum();
  } else {
    if (options_.k > scores.size(1)) {
      throw Error(ErrorKind::kBadSpec,
                  "k: " + std::to_string(options_.k) + " of " +
                      std::to_string(scores.size(1)) +
                      " classes; at most as many as there are is accepted");
    }
    const at::Tensor best = std::get<1>(
        scores.topk(options_.k, /*dim=*/1, /*largest=*/true, /*sorted=*/false));
    hits = best.eq(target.unsqueeze(1)).sum();
  }
  count_ += target.numel();
  hits_ = hits_.defined() ? hits_.add_(hits) : hits;
}

at::Tensor TopKAccuracy::Sums() const {
  const double hits = hits_.defined() ? hits_.item<double>() : 0.0;
  return at::tensor({hits, static_cast<double>(count_)}, at::kDouble);
}

std::vector<std::pair<std::string, double>> TopKAccuracy::Values(
    const at::Tensor& sums) const {
  const double* sum = sums.const_data_ptr<double>();
  return {{options_.name, sum[1] > 0
                              ? sum[0] / sum[1]
                              : std::numeric_limits<double>::quiet_NaN()}};
}

}  // namespace epochd::engine
