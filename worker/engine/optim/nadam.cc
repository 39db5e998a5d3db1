// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/nadam.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

namespace epochd::engine {

Nadam::Nadam(ParameterGroups groups, const Options& options)
    : ForeachOptimizer(std::move(groups), options, {"exp_avg", "exp_avg_sq"}),
      options_(options) {}

void Nadam::UpdateFrom(const Tensors& gradients, Bundle& bundle,
                       const Group& settings) {
  const double beta1 = settings.momentum;
  const double beta2 = options_.beta2;
  const double step = static_cast<double>(bundle.steps_before + 1);
  const auto momentum_at = [&](double at_step) {
    return beta1 *
           (1.0 - 0.5 * std::pow(0.96, at_step * options_.momentum_decay));
  };
  const double momentum = momentum_at(step);
  const double next_momentum = momentum_at(step + 1.0);
  // Python keeps the product as a float tensor.
  bundle.scalar =
      static_cast<float>(bundle.scalar) * static_cast<float>(momentum);

  at::_foreach_lerp_(bundle.states[0], gradients, 1.0 - beta1);
  at::_foreach_mul_(bundle.states[1], beta2);
  at::_foreach_addcmul_(bundle.states[1], gradients, gradients, 1.0 - beta2);
  Tensors divisors = at::_foreach_sqrt(bundle.states[1]);
  at::_foreach_div_(divisors, std::sqrt(1.0 - std::pow(beta2, step)));
  at::_foreach_add_(divisors, options_.eps);
  const double gradient_rate =
      settings.lr * (1.0 - momentum) / (1.0 - bundle.scalar);
  const double mean_rate =
      settings.lr * next_momentum / (1.0 - bundle.scalar * next_momentum);
  at::_foreach_addcdiv_(bundle.parameters, gradients, divisors, -gradient_rate);
  at::_foreach_addcdiv_(bundle.parameters, bundle.states[0], divisors,
                        -mean_rate);
}

}  // namespace epochd::engine
