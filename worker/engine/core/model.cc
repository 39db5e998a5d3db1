// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/model.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

namespace epochd::engine {

void Model::Freeze(const std::vector<std::string>& names) {
  for (NamedTensor& each : Parameters()) {
    if (std::find(names.begin(), names.end(), each.name) != names.end()) {
      each.tensor.set_requires_grad(false);
    }
  }
}

}  // namespace epochd::engine
