// SPDX-License-Identifier: Apache-2.0
//
// Columns of a data set as plain numbers, for splits and samplers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

// One whole number per sample, such as labels or groups. Throws
// Error(kBadSpec) naming the field: not known without reading samples, more
// than one value per sample, or not whole numbers.
std::vector<int64_t> WholeColumn(const Dataset& dataset,
                                 const std::string& field);
// One number per sample.
std::vector<double> NumberColumn(const Dataset& dataset,
                                 const std::string& field);

}  // namespace epochd::engine
