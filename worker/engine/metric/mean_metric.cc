// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/mean_metric.h"

#include <ATen/ATen.h>

#include <limits>

namespace epochd::engine {

void MeanMetric::Reset() {
  sum_.reset();
  counts_.reset();
  count_ = 0;
}

void MeanMetric::Add(at::Tensor sum, int64_t count) {
  count_ += count;
  sum_ = sum_.defined() ? sum_.add_(sum) : std::move(sum);
}

void MeanMetric::Add(at::Tensor sum, const at::Tensor& count) {
  Add(std::move(sum), 0);
  const at::Tensor exact = count.to(at::kDouble);
  counts_ = counts_.defined() ? counts_ + exact : exact;
}

at::Tensor MeanMetric::Sums() const {
  const double sum = sum_.defined() ? sum_.item<double>() : 0.0;
  const double counts = counts_.defined() ? counts_.item<double>() : 0.0;
  return at::tensor({sum, static_cast<double>(count_) + counts}, at::kDouble);
}

std::vector<std::pair<std::string, double>> MeanMetric::Values(
    const Collected& all) const {
  const double* sum = all.sums.const_data_ptr<double>();
  return {{name_, sum[1] > 0 ? Finish(sum[0] / sum[1])
                             : std::numeric_limits<double>::quiet_NaN()}};
}

}  // namespace epochd::engine
