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

Adam::Adam(std::vector<NamedTensor> parameters, const Options& options)
    : FusedOptimizer(std::move(parameters), options.lr,
                     StateNames(options.amsgrad)),
      options_(options) {}

void Adam::Update(const Group& group) {
  const at::TensorList max_squares =
      options_.amsgrad ? at::TensorList(group.states[2]) : at::TensorList();
  if (options_.decoupled_weight_decay) {
    at::_fused_adamw_(group.parameters, group.gradients, group.states[0],
                      group.states[1], max_squares, group.steps, lr(),
                      options_.beta1, options_.beta2, options_.weight_decay,
                      options_.eps, options_.amsgrad, options_.maximize);
  } else {
    at::_fused_adam_(group.parameters, group.gradients, group.states[0],
                     group.states[1], max_squares, group.steps, lr(),
                     options_.beta1, options_.beta2, options_.weight_decay,
                     options_.eps, options_.amsgrad, options_.maximize);
  }
}

}  // namespace epochd::engine
