// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/adam.h"

#include <ATen/ATen.h>

#include <string>
#include <utility>

namespace epochd::engine {
namespace {

std::vector<std::string> StateNames(bool amsgrad) {
  std::vector<std::string> names{"exp_avg", "exp_avg_sq"};
  if (amsgrad) names.push_back("max_exp_avg_sq");
  return names;
}

}  // namespace

Adam::Adam(ParameterGroups groups, const Options& options)
    : GroupedOptimizer(std::move(groups), options.of_groups(),
                       StateNames(options.amsgrad)),
      options_(options) {}

void Adam::Update(Bundle& bundle, const Group& settings) {
  const at::TensorList max_squares =
      options_.amsgrad ? at::TensorList(bundle.states[2]) : at::TensorList();
  if (options_.decoupled_weight_decay) {
    at::_fused_adamw_(bundle.parameters, bundle.gradients, bundle.states[0],
                      bundle.states[1], max_squares, bundle.steps, settings.lr,
                      settings.momentum, options_.beta2, settings.weight_decay,
                      options_.eps, options_.amsgrad, options_.maximize);
  } else {
    at::_fused_adam_(bundle.parameters, bundle.gradients, bundle.states[0],
                     bundle.states[1], max_squares, bundle.steps, settings.lr,
                     settings.momentum, options_.beta2, settings.weight_decay,
                     options_.eps, options_.amsgrad, options_.maximize);
  }
}

}  // namespace epochd::engine
