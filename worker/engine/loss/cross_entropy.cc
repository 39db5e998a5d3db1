// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/cross_entropy.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/scalar.h"

namespace epochd::engine {

CrossEntropyLoss::CrossEntropyLoss(Options options)
    : options_(std::move(options)) {
  set_weight(options_.weight);
  if (!options_.class_weights.empty()) {
    class_weights_ = at::tensor(options_.class_weights, at::kDouble);
  }
}

at::Tensor CrossEntropyLoss::Compute(const Batch& batch) const {
  const auto [scores, target] = ClassScores(batch, options_.fields);
  if (class_weights_.defined()) {
    if (class_weights_.size(0) != scores.size(1)) {
      throw Error(ErrorKind::kBadSpec,
                  "class_weights: " + std::to_string(class_weights_.size(0)) +
                      " weights for " + std::to_string(scores.size(1)) +
                      " classes; one for each class is accepted");
    }
    if (class_weights_.device() != scores.device() ||
        class_weights_.scalar_type() != scores.scalar_type()) {
      class_weights_ = class_weights_.to(scores.options());
    }
  }
  const at::Tensor loss = at::cross_entropy_loss(
      scores, target, class_weights_, at::Reduction::Mean,
      options_.ignore_index, options_.label_smoothing);
  if (target.dim() == scores.dim()) return loss;
  // The mean over no label is 0 / 0; such a batch says nothing.
  if (!loss.is_cpu()) {
    return at::where(target.ne(options_.ignore_index).any(), loss,
                     at::zeros_like(loss));
  }
  const bool is_empty = std::isnan(ReadScalar(loss)) &&
                        target.eq(options_.ignore_index).all().item<bool>();
  return is_empty ? scores.sum() * 0 : loss;
}

}  // namespace epochd::engine
