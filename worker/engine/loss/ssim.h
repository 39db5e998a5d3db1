// SPDX-License-Identifier: Apache-2.0
//
// Structural similarity of images x and y, [B, C, H, W] each, by Wang et al.
// (2004). With means, variances and the covariance in a window around each
// pixel, c1 = (k1 range)^2 and c2 = (k2 range)^2:
//
//   contrast = (2 cov + c2) / (var_x + var_y + c2)
//   ssim     = (2 mu_x mu_y + c1) / (mu_x^2 + mu_y^2 + c1) * contrast
//
// An image's value is the mean over windows and channels. Multi-scale (2003):
// the product over scales, each half the size of the one before, of the mean
// contrast to the power beta, at the last scale the mean ssim; a mean below 0
// stands for 0. Differentiable. Pure functions, any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace epochd::engine {

struct SsimOptions {
  enum class Padding {
    kNone,     // windows inside the image only: MATLAB, scikit-image, BasicSR
    kReflect,  // torchmetrics, which takes contrast from windows inside only
    kZero,     // SR-Forge
  };
  int64_t window = 11;  // odd
  double sigma = 1.5;   // of the Gaussian window; 0: a uniform window
  Padding padding = Padding::kNone;
  double data_range = 1.0;
  double k1 = 0.01;
  double k2 = 0.03;
  // Multi-scale only; as many as there are scales.
  std::vector<double> betas = {0.0448, 0.2856, 0.3001, 0.2363, 0.1333};
};

// "none", "reflect" or "zero".
SsimOptions::Padding SsimPaddingOf(const std::string& name);

struct ImageScores {
  at::Tensor values;   // [B]
  at::Tensor weights;  // [B]: what each counts; undefined: all alike
};

// `weights`: of pixels, as WeightsOf() gives; may be undefined. A window counts
// as the least of its pixels do. Throws Error(kTraining) for other than images,
// and where they are smaller than the window.
ImageScores Ssim(const at::Tensor& x, const at::Tensor& y,
                 const at::Tensor& weights, const SsimOptions& options);
ImageScores MultiScaleSsim(const at::Tensor& x, const at::Tensor& y,
                           const at::Tensor& weights,
                           const SsimOptions& options);

// Weights of pixels [B, C or 1, H, W] after a window of odd size: the least in
// it; with `pad` of the same size, else smaller.
at::Tensor ErodedWeights(const at::Tensor& weights, int64_t window, bool pad);

}  // namespace epochd::engine
