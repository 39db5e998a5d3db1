// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/radam.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

namespace epochd::engine {

Radam::Radam(ParameterGroups groups, const Options& options)
    : ForeachOptimizer(std::move(groups), options, {"exp_avg", "exp_avg_sq"}),
      options_(options) {}

void Radam::UpdateFrom(const Tensors& gradients, Bundle& bundle,
                       const Group& settings) {
  const double beta1 = settings.momentum;
  const double beta2 = options_.beta2;
  const double step = static_cast<double>(bundle.steps_before + 1);
  at::_foreach_lerp_(bundle.states[0], gradients, 1.0 - beta1);
  at::_foreach_mul_(bundle.states[1], beta2);
  at::_foreach_addcmul_(bundle.states[1], gradients, gradients, 1.0 - beta2);

  // Length of the simple moving average that the exponential one is like; up
  // to 5 the variance is not tractable.
  constexpr double kShortest = 5.0;
  const double decayed = std::pow(beta2, step);
  const double longest = 2.0 / (1.0 - beta2) - 1.0;
  const double length = longest - 2.0 * step * decayed / (1.0 - decayed);
  const double rate = settings.lr / (1.0 - std::pow(beta1, step));
  if (length <= kShortest) {
    at::_foreach_add_(bundle.parameters, bundle.states[0], -rate);
    return;
  }
  const double rectification =
      std::sqrt((length - 4.0) * (length - 2.0) * longest /
                ((longest - 4.0) * (longest - 2.0) * length));
  Tensors divisors = at::_foreach_sqrt(bundle.states[1]);
  at::_foreach_add_(divisors, options_.eps);
  at::_foreach_addcdiv_(bundle.parameters, bundle.states[0], divisors,
                        -rate * rectification * std::sqrt(1.0 - decayed));
}

}  // namespace epochd::engine
