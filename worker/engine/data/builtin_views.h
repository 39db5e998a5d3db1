// SPDX-License-Identifier: Apache-2.0
//
// The views over data sets that a job file can name: Concat, Subset, KFold and
// Split. What is nested may be a `${ref:name}`; the data set is then read once
// for all who look at it.
#pragma once

#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Dataset>> BuiltinViews();

}  // namespace epochd::engine
