// SPDX-License-Identifier: Apache-2.0
//
// MeanMetric: what metrics that are a mean over samples share: a sum that
// stays on the device of the scores until Sums() is asked, and a count.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/metric.h"

namespace epochd::engine {

class MeanMetric : public Metric {
 public:
  void Reset() final;
  // [sum, count].
  at::Tensor Sums() const final;
  std::vector<std::pair<std::string, double>> Values(
      const at::Tensor& sums) const final;

 protected:
  explicit MeanMetric(std::string name) : name_(std::move(name)) {}
  // Adds the sum over `count` samples, a scalar that is the metric's own.
  void Add(at::Tensor sum, int64_t count);

 private:
  const std::string name_;
  at::Tensor sum_;  // undefined: none yet
  int64_t count_ = 0;
};

}  // namespace epochd::engine
