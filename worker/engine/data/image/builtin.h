// SPDX-License-Identifier: Apache-2.0
//
// The image data sets and transforms that a job file can name: explicit lists,
// put into the registry once.
#pragma once

#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/transform.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Dataset>> BuiltinImageDatasets();
std::vector<Entry<Transform>> BuiltinImageTransforms();

}  // namespace epochd::engine
