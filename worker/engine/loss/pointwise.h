// SPDX-License-Identifier: Apache-2.0
//
// Losses of the difference d of output and target, element by element, as
// torch.nn's with reduction "mean":
//
//   MSE          d^2
//   L1           |d|
//   Charbonnier  sqrt(d^2 + epsilon^2)
//   Huber        d^2 / 2 where |d| < delta, else delta (|d| - delta / 2)
//   SmoothL1     d^2 / (2 beta) where |d| < beta, else |d| - beta / 2
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/engine/loss/element_loss.h"

namespace epochd::engine {

class MseLoss : public ElementLoss {
 public:
  struct Options : Common {
    Options() { name = "mse"; }
  };
  explicit MseLoss(const Options& options) : ElementLoss(options) {}
  at::Tensor Residual(const Batch& batch) const override {
    return Difference(batch);
  }

 private:
  at::Tensor Elements(const at::Tensor& output,
                      const at::Tensor& target) const override;
  at::Tensor Mean(const at::Tensor& output,
                  const at::Tensor& target) const override;
};

class L1Loss : public ElementLoss {
 public:
  struct Options : Common {
    Options() { name = "l1"; }
  };
  explicit L1Loss(const Options& options) : ElementLoss(options) {}
  at::Tensor Residual(const Batch& batch) const override {
    return Difference(batch);
  }

 private:
  at::Tensor Elements(const at::Tensor& output,
                      const at::Tensor& target) const override;
  at::Tensor Mean(const at::Tensor& output,
                  const at::Tensor& target) const override;
};

class CharbonnierLoss : public ElementLoss {
 public:
  struct Options : Common {
    Options() { name = "charbonnier"; }
    double epsilon = 1e-3;  // above 0
  };
  explicit CharbonnierLoss(const Options& options)
      : ElementLoss(options), epsilon_(options.epsilon) {}

 private:
  at::Tensor Elements(const at::Tensor& output,
                      const at::Tensor& target) const override;
  const double epsilon_;
};

class HuberLoss : public ElementLoss {
 public:
  struct Options : Common {
    Options() { name = "huber"; }
    double delta = 1.0;  // above 0
  };
  explicit HuberLoss(const Options& options)
      : ElementLoss(options), delta_(options.delta) {}

 private:
  at::Tensor Elements(const at::Tensor& output,
                      const at::Tensor& target) const override;
  const double delta_;
};

class SmoothL1Loss : public ElementLoss {
 public:
  struct Options : Common {
    Options() { name = "smooth_l1"; }
    double beta = 1.0;  // 0: L1
  };
  explicit SmoothL1Loss(const Options& options)
      : ElementLoss(options), beta_(options.beta) {}

 private:
  at::Tensor Elements(const at::Tensor& output,
                      const at::Tensor& target) const override;
  const double beta_;
};

}  // namespace epochd::engine
