// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/binary.h"

#include <ATen/ATen.h>

#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

// Keeps powers below 1 of something that may be 0 from an infinite gradient.
constexpr double kLeast = 1e-12;
// What torch_ecg's AsymmetricLoss takes logs of at least.
constexpr double kLeastProbability = 1e-8;

}  // namespace

ClassVector::ClassVector(std::string parameter,
                         const std::vector<double>& values)
    : parameter_(std::move(parameter)) {
  if (!values.empty()) values_ = at::tensor(values, at::kDouble);
}

at::Tensor ClassVector::For(const at::Tensor& like) const {
  if (!values_.defined()) return values_;
  const int64_t classes = like.dim() < 2 ? 1 : like.size(1);
  if (values_.size(0) != 1 && values_.size(0) != classes) {
    throw Error(ErrorKind::kBadSpec,
                parameter_ + ": " + std::to_string(values_.size(0)) +
                    " numbers for " + std::to_string(classes) +
                    " classes (the second dimension); one, or one for each, "
                    "is accepted");
  }
  if (values_.device() != like.device() ||
      values_.scalar_type() != like.scalar_type()) {
    values_ = values_.to(like.options());
  }
  if (values_.size(0) == 1 || like.dim() == 2) return values_;
  std::vector<int64_t> shape(static_cast<size_t>(like.dim()), 1);
  shape[1] = -1;
  return values_.reshape(shape);
}

at::Tensor BceWithLogitsLoss::Elements(const at::Tensor& output,
                                       const at::Tensor& target) const {
  CheckShares(target);
  return at::binary_cross_entropy_with_logits(
      output, target, class_weights_.For(output), pos_weight_.For(output),
      at::Reduction::None);
}

at::Tensor BceLoss::Elements(const at::Tensor& output,
                             const at::Tensor& target) const {
  CheckShares(target);
  at::Tensor elements =
      at::binary_cross_entropy(output, target, {}, at::Reduction::None);
  if (const at::Tensor weight = pos_weight_.For(output); weight.defined()) {
    // bce(p, y) has the parts -y log p and -(1 - y) log(1 - p).
    const at::Tensor positive = at::binary_cross_entropy(
        output, at::ones_like(output), {}, at::Reduction::None);
    elements = elements + positive * target * (weight - 1);
  }
  if (const at::Tensor weight = class_weights_.For(output); weight.defined()) {
    elements = elements * weight;
  }
  return elements;
}

at::Tensor FocalLoss::Elements(const at::Tensor& output,
                               const at::Tensor& target) const {
  CheckShares(target);
  const at::Tensor entropy = at::binary_cross_entropy_with_logits(
      output, target, {}, {}, at::Reduction::None);
  // 1 - p_t, exact also where p_t is nearly 1.
  const at::Tensor rest =
      at::sigmoid(-output) * target + at::sigmoid(output) * (1 - target);
  at::Tensor elements = entropy;
  if (gamma_ != 0) elements = elements * rest.clamp_min(kLeast).pow(gamma_);
  if (alpha_) {
    elements = elements * (target * *alpha_ + (1 - target) * (1 - *alpha_));
  }
  if (const at::Tensor weight = class_weights_.For(output); weight.defined()) {
    elements = elements * weight;
  }
  return elements;
}

at::Tensor AsymmetricLoss::Elements(const at::Tensor& output,
                                    const at::Tensor& target) const {
  CheckShares(target);
  const at::Tensor positive = at::sigmoid(output);
  const at::Tensor shifted = (1 - positive + margin_).clamp_max(1);
  const at::Tensor rest = 1 - target;
  const at::Tensor logs = target * positive.clamp_min(kLeastProbability).log() +
                          rest * shifted.clamp_min(kLeastProbability).log();
  if (gamma_neg_ == 0 && gamma_pos_ == 0) return -logs;
  const at::Tensor base =
      (1 - positive * target - shifted * rest).clamp_min(kLeast);
  const at::Tensor factor =
      at::pow(base, target * gamma_pos_ + rest * gamma_neg_);
  return -logs * (detach_focus_ ? factor.detach() : factor);
}

}  // namespace epochd::engine
