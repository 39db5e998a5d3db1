// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/pointwise.h"

#include <ATen/ATen.h>

namespace epochd::engine {
namespace {

at::Tensor Difference(const Batch& batch, const ComparedFields& fields) {
  const auto [output, target] = SameShape(batch, fields);
  const at::Tensor difference = output - target;
  return difference.dim() == 0 ? difference.reshape({1}) : difference;
}

}  // namespace

MseLoss::MseLoss(Options options) : options_(std::move(options)) {
  set_weight(options_.weight);
}

at::Tensor MseLoss::Compute(const Batch& batch) const {
  const auto [output, target] = SameShape(batch, options_.fields);
  return at::mse_loss(output, target);
}

at::Tensor MseLoss::Residual(const Batch& batch) const {
  return Difference(batch, options_.fields);
}

L1Loss::L1Loss(Options options) : options_(std::move(options)) {
  set_weight(options_.weight);
}

at::Tensor L1Loss::Compute(const Batch& batch) const {
  const auto [output, target] = SameShape(batch, options_.fields);
  return at::l1_loss(output, target);
}

at::Tensor L1Loss::Residual(const Batch& batch) const {
  return Difference(batch, options_.fields);
}

BceWithLogitsLoss::BceWithLogitsLoss(Options options)
    : options_(std::move(options)) {
  set_weight(options_.weight);
  if (!options_.pos_weight.empty()) {
    pos_weight_ = at::tensor(options_.pos_weight, at::kDouble);
  }
}

at::Tensor BceWithLogitsLoss::Compute(const Batch& batch) const {
  const auto [output, target] = SameShape(batch, options_.fields);
  if (pos_weight_.defined() &&
      (pos_weight_.device() != output.device() ||
       pos_weight_.scalar_type() != output.scalar_type())) {
    pos_weight_ = pos_weight_.to(output.options());
  }
  return at::binary_cross_entropy_with_logits(output, target, {}, pos_weight_,
                                              at::Reduction::Mean);
}

}  // namespace epochd::engine
