// SPDX-License-Identifier: Apache-2.0
//
// Rosenbrock's valley, least at (1, 1): what optimizers that evaluate a loss
// again are tested by.
#pragma once

#include <torch/types.h>

#include <vector>

#include "worker/engine/core/optimizer.h"

namespace epochd::engine {

using ValleyPoint = std::vector<NamedTensor>;

inline ValleyPoint StartPoint() {
  return {{"x", torch::full({1}, -1.5).requires_grad_()},
          {"y", torch::full({1}, 2.0).requires_grad_()}};
}

inline ValleyPoint ValleyCopyOf(const ValleyPoint& point) {
  ValleyPoint copy;
  for (const auto& [name, tensor] : point) {
    copy.push_back({name, tensor.detach().clone().requires_grad_()});
  }
  return copy;
}

// Both must outlive it.
inline Optimizer::Closure Valley(const ValleyPoint& point,
                                 Optimizer& optimizer) {
  return [&point, &optimizer] {
    optimizer.ZeroGrad();
    const at::Tensor& x = point[0].tensor;
    const at::Tensor& y = point[1].tensor;
    at::Tensor loss =
        ((1 - x).square() + 100 * (y - x.square()).square()).sum();
    loss.backward();
    return loss;
  };
}

}  // namespace epochd::engine
