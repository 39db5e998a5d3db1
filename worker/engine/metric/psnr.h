// SPDX-License-Identifier: Apache-2.0
//
// Peak signal-to-noise ratio in decibels: of each sample
// 10 log10(data_range^2 / mean squared error), and of an epoch the mean over
// its samples. A sample equal to its target has an infinite one; one that has
// nothing to count is left out.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "worker/engine/metric/image_pair.h"
#include "worker/engine/metric/mean_metric.h"

namespace epochd::engine {

class Psnr : public MeanMetric {
 public:
  struct Options : ImagePairOptions {
    std::string name = "psnr";
  };

  explicit Psnr(Options options)
      : MeanMetric(options.name), options_(std::move(options)) {}

  void Update(const Batch& batch) override;
  bool higher_is_better() const override { return true; }

 private:
  const Options options_;
};

}  // namespace epochd::engine
