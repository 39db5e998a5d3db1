// SPDX-License-Identifier: Apache-2.0
//
// MeanMetric: what metrics that are a mean share: a sum and what it is divided
// by, which stay on the device of the scores until Sums() is asked.
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
  const std::string& name() const final { return name_; }
  void Reset() final;
  // [sum, count].
  at::Tensor Sums() const final;
  std::vector<std::pair<std::string, double>> Values(
      const Collected& all) const final;

 protected:
  explicit MeanMetric(std::string name) : name_(std::move(name)) {}
  // Adds the sum over `count` samples, a scalar that is the metric's own.
  void Add(at::Tensor sum, int64_t count);
  // The same with a count that is a scalar on the device, or a sum of weights.
  void Add(at::Tensor sum, const at::Tensor& count);
  // The value, of sum / count. Not asked where the count is 0: that is NaN.
  virtual double Finish(double mean) const { return mean; }

 private:
  const std::string name_;
  at::Tensor sum_;  // undefined: none yet
  int64_t count_ = 0;
  at::Tensor counts_;  // beside count_; undefined: none
};

}  // namespace epochd::engine
