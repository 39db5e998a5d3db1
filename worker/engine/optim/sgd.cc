// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/sgd.h"

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

CommonSettings SgdSettings(bool has_momentum, const Sgd::Options& options) {
  CommonSettings settings{.lr = options.lr,
                          .weight_decay = options.weight_decay};
  if (has_momentum) settings.momentum = options.momentum;
  return settings;
}

}  // namespace

Sgd::Sgd(const ParameterGroups& groups, const Options& options)
    : Sgd(groups.HaveMomentum(options.momentum), groups, options) {}

Sgd::Sgd(bool has_momentum, const ParameterGroups& groups,
         const Options& options)
    : GroupedOptimizer(groups, SgdSettings(has_momentum, options),
                       has_momentum
                           ? std::vector<std::string>{"momentum_buffer"}
                           : std::vector<std::string>{}),
      options_(options) {
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0)) {
    throw Error(ErrorKind::kBadSpec,
                "nesterov: true with momentum " +
                    std::to_string(options.momentum) + " and dampening " +
                    std::to_string(options.dampening) +
                    "; a momentum above 0 and a dampening of 0 are accepted");
  }
}

void Sgd::Update(Bundle& bundle, const Group& settings) {
  at::_fused_sgd_(bundle.parameters, bundle.gradients,
                  settings.momentum == 0.0 ? at::TensorList()
                                           : at::TensorList(bundle.states[0]),
                  settings.weight_decay, settings.momentum, settings.lr,
                  options_.dampening, options_.nesterov, options_.maximize,
                  /*is_first_step=*/bundle.steps_before == 0);
}

}  // namespace epochd::engine
