// SPDX-License-Identifier: Apache-2.0
//
// The list of built-in optimizers: declarations and how to build each. They
// take what the registry's other components do not: the parameters to update,
// which become groups by rules that every optimizer has
// (optim/group_rules.h).
#pragma once

#include <memory>
#include <vector>

#include "worker/engine/optim/grouped.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct OptimizerEntry {
  catalogue::Component component;
  std::unique_ptr<Optimizer> (*make)(const Params& params,
                                     const ParameterGroups& groups);
};

std::vector<OptimizerEntry> BuiltinOptimizers();

// Builds it for `parameters`, put into groups by the rules of `params`.
std::unique_ptr<Optimizer> MakeOptimizer(
    const OptimizerEntry& entry, const Params& params,
    const std::vector<NamedTensor>& parameters);

}  // namespace epochd::engine
