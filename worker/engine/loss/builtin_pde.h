// SPDX-License-Identifier: Apache-2.0
//
// PDE residuals: any equation as an expression, and the usual ones by name.
#pragma once

#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Loss>> BuiltinPdeLosses();

}  // namespace epochd::engine
