// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/pointwise.h"

#include <ATen/ATen.h>

namespace epochd::engine {

at::Tensor MseLoss::Elements(const at::Tensor& output,
                             const at::Tensor& target) const {
  return at::mse_loss(output, target, at::Reduction::None);
}

at::Tensor MseLoss::Mean(const at::Tensor& output,
                         const at::Tensor& target) const {
  return at::mse_loss(output, target);
}

at::Tensor L1Loss::Elements(const at::Tensor& output,
                            const at::Tensor& target) const {
  return at::l1_loss(output, target, at::Reduction::None);
}

at::Tensor L1Loss::Mean(const at::Tensor& output,
                        const at::Tensor& target) const {
  return at::l1_loss(output, target);
}

at::Tensor CharbonnierLoss::Elements(const at::Tensor& output,
                                     const at::Tensor& target) const {
  return (output - target).square().add(epsilon_ * epsilon_).sqrt();
}

at::Tensor HuberLoss::Elements(const at::Tensor& output,
                               const at::Tensor& target) const {
  return at::huber_loss(output, target, at::Reduction::None, delta_);
}

at::Tensor SmoothL1Loss::Elements(const at::Tensor& output,
                                  const at::Tensor& target) const {
  return at::smooth_l1_loss(output, target, at::Reduction::None, beta_);
}

}  // namespace epochd::engine
