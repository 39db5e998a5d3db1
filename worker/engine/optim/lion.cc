// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/lion.h"

#include <ATen/ATen.h>

#include <utility>

namespace epochd::engine {

Lion::Lion(ParameterGroups groups, const Options& options)
    : ForeachOptimizer(
          std::move(groups),
          {.lr = options.lr,
           .momentum = options.beta1,
           .weight_decay = options.weight_decay},
          {"exp_avg"},
          {.decoupled_weight_decay = true, .maximize = options.maximize}),
      options_(options) {}

void Lion::UpdateFrom(const Tensors& gradients, Bundle& bundle,
                      const Group& settings) {
  Tensors& momenta = bundle.states[0];
  Tensors directions =
      at::_foreach_lerp(momenta, gradients, 1.0 - settings.momentum);
  at::_foreach_sign_(directions);
  at::_foreach_add_(bundle.parameters, directions, -settings.lr);
  at::_foreach_lerp_(momenta, gradients, 1.0 - options_.beta2);
}

}  // namespace epochd::engine
