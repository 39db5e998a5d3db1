// SPDX-License-Identifier: Apache-2.0
//
// The list of built-in metrics: declarations and how to build each.
#pragma once

#include <vector>

#include "worker/engine/core/metric.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Metric>> BuiltinMetrics();

}  // namespace epochd::engine
