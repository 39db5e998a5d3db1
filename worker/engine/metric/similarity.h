// SPDX-License-Identifier: Apache-2.0
//
// Structural similarity (loss/ssim.h), at one or at several scales: the mean
// over images. One that has nothing to count is left out.
#pragma once

#include <string>
#include <utility>

#include "worker/engine/loss/ssim.h"
#include "worker/engine/metric/image_pair.h"
#include "worker/engine/metric/mean_metric.h"

namespace epochd::engine {

class Similarity : public MeanMetric {
 public:
  struct Options : ImagePairOptions {
    std::string name = "ssim";
    bool multi_scale = false;
    // Its data range is that of the images.
    SsimOptions ssim = {};
  };

  explicit Similarity(Options options)
      : MeanMetric(options.name), options_(std::move(options)) {}

  void Update(const Batch& batch) override;
  bool higher_is_better() const override { return true; }

 private:
  const Options options_;
};

}  // namespace epochd::engine
