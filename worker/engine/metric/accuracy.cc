// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/metric/accuracy.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "worker/engine/core/error.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {

void TopKAccuracy::Update(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const auto [scores, given] = ClassScores(batch, options_.fields);
  const bool has_classes = given.dim() != scores.dim();
  const at::Tensor target = has_classes ? given : given.argmax(1);
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
  at::Tensor counts =
      WeightsOf(batch, {.mask = options_.mask}, target.sizes(), at::kDouble);
  if (has_classes) {
    const at::Tensor is_class = target.ne(options_.ignore_index);
    counts = counts.defined() ? counts * is_class : is_class;
  }
  if (!counts.defined()) {
    Add(hits.sum(at::kDouble), target.numel());
    return;
  }
  Add((hits * counts).sum(at::kDouble),
      counts.expand(target.sizes()).sum(at::kDouble));
}

}  // namespace epochd::engine
