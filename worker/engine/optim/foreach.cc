// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/foreach.h"

#include <ATen/ATen.h>

namespace epochd::engine {
namespace {

// Each kernel goes through all tensors of its list. On a CPU a list of so many
// elements is still in the cache when the next kernel comes.
constexpr int64_t kElementsOfPiece = 1 << 16;

}  // namespace

void ForeachOptimizer::Update(Bundle& bundle, const Group& settings) {
  const size_t size = bundle.parameters.size();
  if (size == 0 || !bundle.parameters.front().is_cpu()) {
    return UpdatePiece(bundle, settings);
  }
  double scalar = bundle.scalar;
  for (size_t begin = 0, end = 0; begin < size; begin = end) {
    int64_t elements = 0;
    while (end < size && (end == begin || elements < kElementsOfPiece)) {
      elements += bundle.parameters[end++].numel();
    }
    if (begin == 0 && end == size) return UpdatePiece(bundle, settings);
    const auto cut = [&](const Tensors& all) {
      return Tensors(all.begin() + static_cast<std::ptrdiff_t>(begin),
                     all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    Bundle piece{.parameters = cut(bundle.parameters),
                 .gradients = cut(bundle.gradients),
                 .states = {},
                 .group = bundle.group,
                 .steps_before = bundle.steps_before,
                 .step = {},
                 .steps = {},
                 .scalar = bundle.scalar,
                 .indices = {}};
    for (const Tensors& states : bundle.states) {
      piece.states.push_back(cut(states));
    }
    UpdatePiece(piece, settings);
    scalar = piece.scalar;
  }
  bundle.scalar = scalar;
}

void ForeachOptimizer::UpdatePiece(Bundle& bundle, const Group& settings) {
  Tensors changed;
  if (common_.maximize) changed = at::_foreach_neg(bundle.gradients);
  if (settings.weight_decay != 0.0) {
    if (common_.decoupled_weight_decay) {
      at::_foreach_mul_(bundle.parameters,
                        1.0 - settings.lr * settings.weight_decay);
    } else if (changed.empty()) {
      changed = at::_foreach_add(bundle.gradients, bundle.parameters,
                                 settings.weight_decay);
    } else {
      at::_foreach_add_(changed, bundle.parameters, settings.weight_decay);
    }
  }
  UpdateFrom(changed.empty() ? bundle.gradients : changed, bundle, settings);
}

}  // namespace epochd::engine
