// SPDX-License-Identifier: Apache-2.0
//
// Losses of images [B, C, H, W]:
//
//   SSIM            1 - ssim, or of several scales (loss/ssim.h)
//   L1SSIM          alpha (1 - ssim) + (1 - alpha) |d|, Zhao et al. (2017)
//   TotalVariation  m |dx| + m |dy|, or m sqrt(dx^2 + dy^2 + epsilon^2); dx and
//                   dy are differences of neighbours of the output, m() means
//   Gradient        how far derivatives of output and target are apart:
//                   m |gx - tx| + m |gy - ty|, or m |g - t| of the magnitudes
//                   g = sqrt(gx^2 + gy^2 + epsilon^2); squared on request
//
// TotalVariation, and Gradient of differences, take signals [B, C, N] too. What
// is computed from several pixels counts as the least of them does
// (TotalVariation, Gradient of differences: their product).
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>

#include "worker/engine/core/loss.h"
#include "worker/engine/loss/fields.h"
#include "worker/engine/loss/ssim.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {

class SsimLoss : public Loss {
 public:
  struct Options {
    ComparedFields fields = {};
    Weighing weighing = {};
    std::string name = "ssim";
    bool multi_scale = false;
    // In [0, 1]: share of the similarity; the rest is L1's. 1: no L1.
    double alpha = 1.0;
    SsimOptions ssim = {};
  };
  explicit SsimLoss(Options options) : options_(std::move(options)) {}

  at::Tensor Compute(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  const Options options_;
};

class TotalVariationLoss : public Loss {
 public:
  struct Options {
    std::string output = "output";
    Weighing weighing = {};
    std::string name = "total_variation";
    bool isotropic = false;
    double epsilon = 1e-6;  // above 0
  };
  explicit TotalVariationLoss(Options options) : options_(std::move(options)) {}

  at::Tensor Compute(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  const Options options_;
};

class GradientLoss : public Loss {
 public:
  struct Options {
    ComparedFields fields = {};
    Weighing weighing = {};
    std::string name = "gradient";
    // Sobel's 3 x 3 filter on the image reflected at its edges; else forward
    // differences.
    bool sobel = true;
    bool magnitude = false;
    bool squared = false;
    double epsilon = 1e-3;  // of the magnitude; above 0
  };
  explicit GradientLoss(Options options) : options_(std::move(options)) {}

  at::Tensor Compute(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  const Options options_;
};

}  // namespace epochd::engine
