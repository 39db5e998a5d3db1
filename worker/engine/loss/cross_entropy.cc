// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/cross_entropy.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "worker/engine/core/error.h"
#include "worker/engine/core/scalar.h"

namespace epochd::engine {
namespace {

// Keeps powers below 1 of something that may be 0 from an infinite gradient.
constexpr double kLeastRest = 1e-12;

}  // namespace

ClassLoss::ClassLoss(const Common& common) : common_(common) {
  if (!common_.class_weights.empty()) {
    class_weights_ = at::tensor(common_.class_weights, at::kDouble);
  }
}

std::pair<ClassLoss::Scored, at::Tensor> ClassLoss::Prepare(
    const Batch& batch) const {
  const auto [scores, target] = ClassScores(batch, common_.fields);
  if (scores.size(1) < 2) {
    throw Error(ErrorKind::kBadSpec,
                common_.name + ": field \"" + common_.fields.output +
                    "\" has the scores of one class alone, so that the loss "
                    "is always 0; 2 classes or more are accepted (one score "
                    "for yes or no: BCEWithLogits)");
  }
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
  std::pair<Scored, at::Tensor> prepared{
      {scores, target, class_weights_, common_.ignore_index}, {}};
  auto& [scored, weights] = prepared;
  if (common_.weighing.empty()) {
    CheckProbabilities(scored);
    return prepared;
  }
  std::vector<int64_t> shape = scores.sizes().vec();
  shape.erase(shape.begin() + 1);
  weights = WeightsOf(batch, common_.weighing, shape, scores.scalar_type());
  if (weights.defined()) {
    scored.scores = Blanked(scores, weights.unsqueeze(1));
    scored.target =
        scored.has_classes()
            ? target.masked_fill(weights.eq(0), common_.ignore_index)
            : Blanked(target, weights.unsqueeze(1));
  }
  CheckProbabilities(scored);
  return prepared;
}

void ClassLoss::CheckProbabilities(const Scored& scored) const {
  if (has_looked_ || scored.has_classes() || scored.target.numel() == 0) return;
  // Once: on a GPU it waits for the device.
  has_looked_ = true;
  constexpr double kRounding = 1e-2;
  // NaN is what steps are left out for.
  if (!(scored.target.min().item<double>() < -kRounding) &&
      !(scored.target.max().item<double>() > 1 + kRounding)) {
    return;
  }
  throw Error(ErrorKind::kBadSpec,
              common_.name + ": field \"" + common_.fields.target +
                  "\" holds floating numbers outside [0, 1]; integer classes "
                  "[B, ...], or probabilities of classes [B, C, ...], are "
                  "accepted");
}

at::Tensor ClassLoss::TotalWeight(const Scored& scored,
                                  const at::Tensor& weights) const {
  const at::Tensor counts = scored.target.ne(common_.ignore_index);
  at::Tensor total = counts.to(scored.scores.scalar_type());
  const at::Tensor own =
      CountOf(scored, scored.target.masked_fill(counts.logical_not(), 0));
  if (own.defined()) total = total * own;
  if (weights.defined()) total = total * weights;
  return total.sum();
}

double ClassLoss::NumItems(const Batch& batch) const {
  const auto [scored, weights] = Prepare(batch);
  if (scored.has_classes()) {
    return TotalWeight(scored, weights).item<double>();
  }
  const int64_t items = scored.scores.numel() / scored.scores.size(1);
  if (!weights.defined()) return static_cast<double>(items);
  return weights.sum().item<double>() * static_cast<double>(items) /
         static_cast<double>(weights.numel());
}

at::Tensor ClassLoss::Compute(const Batch& batch) const {
  const auto [scored, weights] = Prepare(batch);
  if (common_.weighing.empty() && common_.reduction == Reduction::kMean) {
    const at::Tensor mean = Mean(scored);
    if (mean.defined()) return mean;
  }
  const at::Tensor elements = Elements(scored);
  if (common_.reduction != Reduction::kMean || !scored.has_classes()) {
    return Reduce(elements, weights, common_.reduction);
  }
  return SafeRatio((weights.defined() ? elements * weights : elements).sum(),
                   TotalWeight(scored, weights));
}

at::Tensor CrossEntropyLoss::Elements(const Scored& scored) const {
  return at::cross_entropy_loss(scored.scores, scored.target, scored.weights,
                                at::Reduction::None, scored.ignore_index,
                                label_smoothing_);
}

at::Tensor CrossEntropyLoss::Mean(const Scored& scored) const {
  const auto& [scores, target, weights, ignore_index] = scored;
  const at::Tensor loss =
      at::cross_entropy_loss(scores, target, weights, at::Reduction::Mean,
                             ignore_index, label_smoothing_);
  if (!scored.has_classes()) return loss;
  // The mean over no label is 0 / 0; such a batch says nothing.
  if (!loss.is_cpu()) {
    return at::where(target.ne(ignore_index).any(), loss, at::zeros_like(loss));
  }
  const bool is_empty = std::isnan(ReadScalar(loss)) &&
                        target.eq(ignore_index).all().item<bool>();
  return is_empty ? scores.sum() * 0 : loss;
}

at::Tensor CrossEntropyLoss::CountOf(const Scored& scored,
                                     const at::Tensor& classes) const {
  if (!scored.weights.defined()) return {};
  return scored.weights.index({classes});
}

at::Tensor ClassFocalLoss::Elements(const Scored& scored) const {
  const at::Tensor logs = at::log_softmax(scored.scores, 1);
  // -(1 - p)^gamma log p, of one class or of all.
  const auto focal = [this](const at::Tensor& log) {
    if (gamma_ == 0) return -log;
    return -log * (-at::expm1(log)).clamp_min(kLeastRest).pow(gamma_);
  };
  if (!scored.has_classes()) {
    at::Tensor by_class = focal(logs) * scored.target;
    if (scored.weights.defined()) {
      std::vector<int64_t> shape(static_cast<size_t>(by_class.dim()), 1);
      shape[1] = -1;
      by_class = by_class * scored.weights.reshape(shape);
    }
    return by_class.sum(1);
  }
  const at::Tensor ignored = scored.target.eq(scored.ignore_index);
  const at::Tensor classes = scored.target.masked_fill(ignored, 0);
  at::Tensor elements = focal(logs.gather(1, classes.unsqueeze(1)).squeeze(1));
  if (scored.weights.defined()) {
    elements = elements * scored.weights.index({classes});
  }
  return elements.masked_fill(ignored, 0);
}

}  // namespace epochd::engine
