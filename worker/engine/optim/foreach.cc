// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/optim/foreach.h"

#include <ATen/ATen.h>

namespace epochd::engine {

void ForeachOptimizer::Update(Bundle& bundle, const Group& settings) {
  Tensors changed;
  if (common_.maximize) changed = at::_foreach_neg(bundle.gradients);
  if (settings.weight_decay != 0.0) {
    if (common_.decoupled_weight_decay) {
      at::_foreach_mul_(bundle.parameters,
                        1.0 - settings.lr * settings.weight_decay);
    } else if (changed.empty()) {
      changed = at::_foreach_add(bundle.gradients, bundle.parameters,
                                 settings.weight_decay);
    } else {
      at::_foreach_add_(changed, bundle.parameters, settings.weight_decay);
    }
  }
  UpdateFrom(changed.empty() ? bundle.gradients : changed, bundle, settings);
}

}  // namespace epochd::engine
