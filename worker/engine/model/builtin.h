// SPDX-License-Identifier: Apache-2.0
//
// The list of built-in models: declarations and how to build each.
#pragma once

#include <vector>

#include "worker/engine/core/model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Model>> BuiltinModels();

}  // namespace epochd::engine
