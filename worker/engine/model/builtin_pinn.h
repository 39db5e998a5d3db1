// SPDX-License-Identifier: Apache-2.0
//
// Models for physics-informed training.
#pragma once

#include <vector>

#include "worker/engine/core/model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Model>> BuiltinPinnModels();

}  // namespace epochd::engine
