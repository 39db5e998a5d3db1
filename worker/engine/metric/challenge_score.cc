// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/challenge_score.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <limits>

#include "worker/engine/core/error.h"

namespace epochd::engine {

ChallengeScore::ChallengeScore(Options options) : options_(std::move(options)) {
  const auto n = static_cast<int64_t>(options_.weights.size());
  std::vector<double> flat;
  for (const auto& row : options_.weights) {
    flat.insert(flat.end(), row.begin(), row.end());
  }
  weights_ = at::tensor(flat, at::kDouble).reshape({n, n});
}

void ChallengeScore::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const LabelledScores read = ReadLabels(batch, options_.labels);
  const int64_t classes = weights_.size(0);
  if (read.scores.size(1) != classes) {
    throw Error(ErrorKind::kBadSpec, "weights: a matrix of " +
                                         std::to_string(classes) +
                                         " classes for scores of " +
                                         std::to_string(read.scores.size(1)) +
                                         "; one for each class is accepted");
  }
  weights_ = weights_.to(read.scores.device());
  at::Tensor truth;
  at::Tensor given;
  if (read.has_classes) {
    truth = at::one_hot(read.target, classes).to(at::kDouble);
    given = at::one_hot(read.scores.argmax(1), classes).to(at::kDouble);
  } else {
    truth = read.target;
    if (options_.labels.from_logits) watch_.Look(read.scores);
    given = GivenLabels(read.scores, options_.threshold,
                        options_.labels.from_logits)
                .to(at::kDouble);
    if (read.weights.defined()) {
      truth = Blanked(truth, read.weights);
      given = Blanked(given, read.weights);
    }
  }
  // A recording counts as the most of its labels does.
  at::Tensor weights = read.weights;
  if (weights.defined() && weights.dim() == 2) weights = weights.amax(1);
  at::Tensor normal = at::zeros_like(given);
  normal.select(1, options_.normal_class).fill_(1);
  const auto earned = [&](const at::Tensor& labels) {
    const at::Tensor size = at::maximum(truth, labels).sum(1).clamp_min(1);
    const at::Tensor each = (truth.matmul(weights_) * labels).sum(1).div(size);
    return (weights.defined() ? each * weights : each).sum();
  };
  const at::Tensor sums =
      at::stack({earned(given), earned(truth), earned(normal),
                 at::full({}, truth.size(0), truth.options())}) +
      NanIfAnyIs(read.scores, read.weights);
  sums_ = sums_.defined() ? sums_ + sums : sums;
}

at::Tensor ChallengeScore::Sums() const {
  return sums_.defined() ? sums_.cpu() : at::zeros({4}, at::kDouble);
}

std::vector<std::pair<std::string, double>> ChallengeScore::Values(
    const Collected& all) const {
  const double* sum = all.sums.const_data_ptr<double>();
  double value = std::numeric_limits<double>::quiet_NaN();
  if (sum[3] > 0) {
    const double span = sum[1] - sum[2];
    value = span != 0 ? (sum[0] - sum[2]) / span : 0;
  }
  return {{options_.name, value}};
}

}  // namespace epochd::engine
