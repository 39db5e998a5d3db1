// SPDX-License-Identifier: Apache-2.0
//
// The list of built-in losses: declarations and how to build each.
#pragma once

#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Loss>> BuiltinLosses();

}  // namespace epochd::engine
