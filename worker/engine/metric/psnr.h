// SPDX-License-Identifier: Apache-2.0
//
// Peak signal-to-noise ratio in decibels: of each sample
// 10 log10(data_range^2 / mean squared error), and of an epoch the mean over
// its samples. A sample equal to its target has an infinite one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/metric.h"
#include "worker/engine/loss/fields.h"

namespace epochd::engine {

class Psnr : public Metric {
 public:
  struct Options {
    ComparedFields fields = {};
    std::string name = "psnr";
    // Greatest minus smallest value that a sample can hold.
    double data_range = 1.0;
  };

  explicit Psnr(Options options) : options_(std::move(options)) {}

  void Reset() override;
  void Update(const Batch& batch) override;
  at::Tensor Sums() const override;
  std::vector<std::pair<std::string, double>> Values(
      const at::Tensor& sums) const override;
  bool higher_is_better() const override { return true; }

 private:
  Options options_;
  at::Tensor decibels_;  // undefined: none yet
  int64_t count_ = 0;
};

}  // namespace epochd::engine
