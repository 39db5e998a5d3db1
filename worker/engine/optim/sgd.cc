// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/sgd.h"

#include <ATen/ATen.h>

#include <string>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {

Sgd::Sgd(std::vector<NamedTensor> parameters, const Options& options)
    : FusedOptimizer(std::move(parameters), options.lr,
                     options.momentum == 0.0
                         ? std::vector<std::string>{}
                         : std::vector<std::string>{"momentum_buffer"}),
      options_(options) {
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0)) {
    throw Error(ErrorKind::kBadSpec,
                "nesterov: true with momentum " +
                    std::to_string(options.momentum) + " and dampening " +
                    std::to_string(options.dampening) +
                    "; a momentum above 0 and a dampening of 0 are accepted");
  }
}

void Sgd::Update(const Group& group) {
  at::_fused_sgd_(
      group.parameters, group.gradients,
      group.states.empty() ? at::TensorList() : at::TensorList(group.states[0]),
      options_.weight_decay, options_.momentum, lr(), options_.dampening,
      options_.nesterov, options_.maximize,
      /*is_first_step=*/group.steps_before == 0);
}

}  // namespace epochd::engine
