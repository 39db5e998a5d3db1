// SPDX-License-Identifier: Apache-2.0
//
// Data sets of points: CollocationPoints and PointSets.
#pragma once

#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Dataset>> BuiltinPointDatasets();

}  // namespace epochd::engine
