// SPDX-License-Identifier: Apache-2.0
//
// The list of built-in optimizers: declarations and how to build each. They
// take what the registry's other components do not: the parameters to update.
#pragma once

#include <memory>
#include <vector>

#include "worker/engine/core/optimizer.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct OptimizerEntry {
  catalogue::Component component;
  std::unique_ptr<Optimizer> (*make)(const Params& params,
                                     std::vector<NamedTensor> parameters);
};

std::vector<OptimizerEntry> BuiltinOptimizers();

}  // namespace epochd::engine
