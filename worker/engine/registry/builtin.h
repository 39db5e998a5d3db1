// SPDX-License-Identifier: Apache-2.0
//
// The engine's own components, in one explicit list of lists.
#pragma once

#include "worker/engine/registry/registry.h"

namespace epochd::engine {

// Adds models, data sets, transforms, losses, metrics, optimizers, schedulers,
// runners, trainers and the experiment itself; hooks are added by whoever
// links them.
void AddBuiltins(Registry& registry);

}  // namespace epochd::engine
