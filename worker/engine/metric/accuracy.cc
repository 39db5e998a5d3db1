// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/accuracy.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "worker/engine/core/error.h"
#include "worker/engine/metric/labels.h"

namespace epochd::engine {

void TopKAccuracy::UpdateLabels(const Batch& batch) {
  constexpr double kThreshold = 0.5;
  const LabelledScores read =
      ReadLabels(batch, {.fields = options_.fields,
                         .task = LabelOptions::Task::kLabels,
                         .ignore_index = options_.ignore_index,
                         .weighing = options_.weighing});
  if (options_.from_logits) watch_.Look(read.scores);
  const at::Tensor hits =
      GivenLabels(read.scores, kThreshold, options_.from_logits)
          .eq(read.target);
  const at::Tensor nan = NanIfAnyIs(read.scores, read.weights);
  if (read.weights.defined()) {
    Add((hits * read.weights).sum() + nan, read.weights.sum());
  } else {
    Add(hits.sum(at::kDouble) + nan, hits.numel());
  }
}

void TopKAccuracy::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const at::Tensor& given = batch.At(options_.fields.output);
  if (options_.k == 1 && given.dim() > 0 &&
      (given.dim() == 1 || given.size(1) == 1)) {
    UpdateLabels(batch);
    return;
  }
  const TrueClasses read = ReadTrueClasses(
      batch, options_.fields, options_.weighing, options_.ignore_index);
  const at::Tensor& scores = read.scores;
  const at::Tensor& target = read.target;
  at::Tensor hits;
  if (options_.k == 1) {
    hits = scores.argmax(1).eq(target);
  } else {
    if (options_.k > scores.size(1)) {
      throw Error(ErrorKind::kBadSpec,
                  "k: " + std::to_string(options_.k) + " of " +
                      std::to_string(scores.size(1)) +
                      " classes; at most as many as there are is accepted");
    }
    const at::Tensor best = std::get<1>(
        scores.topk(options_.k, /*dim=*/1, /*largest=*/true, /*sorted=*/false));
    hits = best.eq(target.unsqueeze(1)).any(1);
  }
  const at::Tensor nan = NanIfAnyIs(scores, read.weights);
  if (!read.weights.defined()) {
    Add(hits.sum(at::kDouble) + nan, target.numel());
    return;
  }
  Add((hits * read.weights).sum(at::kDouble) + nan,
      read.weights.expand(target.sizes()).sum(at::kDouble));
}

}  // namespace epochd::engine
