// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/adamax.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

namespace epochd::engine {

Adamax::Adamax(ParameterGroups groups, const Options& options)
    : ForeachOptimizer(std::move(groups), options, {"exp_avg", "exp_inf"}),
      options_(options) {}

void Adamax::UpdateFrom(const Tensors& gradients, Bundle& bundle,
                        const Group& settings) {
  const double beta1 = settings.momentum;
  const double step = static_cast<double>(bundle.steps_before + 1);
  at::_foreach_lerp_(bundle.states[0], gradients, 1.0 - beta1);
  Tensors magnitudes = at::_foreach_abs(gradients);
  at::_foreach_add_(magnitudes, options_.eps);
  at::_foreach_mul_(bundle.states[1], options_.beta2);
  at::_foreach_maximum_(bundle.states[1], magnitudes);
  at::_foreach_addcdiv_(bundle.parameters, bundle.states[0], bundle.states[1],
                        -settings.lr / (1.0 - std::pow(beta1, step)));
}

}  // namespace epochd::engine
