// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/adagrad.h"

#include <ATen/ATen.h>

#include <utility>

namespace epochd::engine {

Adagrad::Adagrad(ParameterGroups groups, const Options& options)
    : GroupedOptimizer(std::move(groups),
                       {.lr = options.lr, .weight_decay = options.weight_decay},
                       {"sum"}),
      options_(options) {}

void Adagrad::Update(Bundle& bundle, const Group& settings) {
  at::_fused_adagrad_(bundle.parameters, bundle.gradients, bundle.states[0],
                      bundle.steps, settings.lr, options_.lr_decay,
                      settings.weight_decay, options_.eps, options_.maximize);
}

}  // namespace epochd::engine
