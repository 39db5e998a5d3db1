// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/rmsprop.h"

#include <ATen/ATen.h>

#include <string>
#include <vector>

namespace epochd::engine {
namespace {

std::vector<std::string> RmspropStates(bool has_momentum, bool centered) {
  std::vector<std::string> names{"square_avg"};
  if (has_momentum) names.push_back("momentum_buffer");
  if (centered) names.push_back("grad_avg");
  return names;
}

CommonSettings RmspropSettings(bool has_momentum,
                               const Rmsprop::Options& options) {
  CommonSettings settings{.lr = options.lr,
                          .weight_decay = options.weight_decay};
  if (has_momentum) settings.momentum = options.momentum;
  return settings;
}

}  // namespace

Rmsprop::Rmsprop(const ParameterGroups& groups, const Options& options)
    : Rmsprop(groups.HaveMomentum(options.momentum), groups, options) {}

Rmsprop::Rmsprop(bool has_momentum, const ParameterGroups& groups,
                 const Options& options)
    : ForeachOptimizer(groups, RmspropSettings(has_momentum, options),
                       RmspropStates(has_momentum, options.centered),
                       {.maximize = options.maximize}),
      options_(options),
      average_index_(has_momentum ? 2 : 1) {}

void Rmsprop::UpdateFrom(const Tensors& gradients, Bundle& bundle,
                         const Group& settings) {
  Tensors& squares = bundle.states[0];
  at::_foreach_mul_(squares, options_.alpha);
  at::_foreach_addcmul_(squares, gradients, gradients, 1.0 - options_.alpha);
  Tensors divisors;
  if (options_.centered) {
    Tensors& means = bundle.states[average_index_];
    at::_foreach_lerp_(means, gradients, 1.0 - options_.alpha);
    divisors = at::_foreach_addcmul(squares, means, means, -1);
    at::_foreach_sqrt_(divisors);
  } else {
    divisors = at::_foreach_sqrt(squares);
  }
  at::_foreach_add_(divisors, options_.eps);
  if (settings.momentum > 0.0) {
    Tensors& buffers = bundle.states[1];
    at::_foreach_mul_(buffers, settings.momentum);
    at::_foreach_addcdiv_(buffers, gradients, divisors);
    at::_foreach_add_(bundle.parameters, buffers, -settings.lr);
  } else {
    at::_foreach_addcdiv_(bundle.parameters, gradients, divisors, -settings.lr);
  }
}

}  // namespace epochd::engine
