// SPDX-License-Identifier: Apache-2.0
//
// The data sets of tables that a job file can name: an explicit list, put into
// the registry once.
#pragma once

#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Dataset>> BuiltinTableDatasets();

}  // namespace epochd::engine
