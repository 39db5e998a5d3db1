// SPDX-License-Identifier: Apache-2.0
//
// The list of built-in schedulers: declarations and how to build
// each.
#pragma once

#include <vector>

#include "worker/engine/core/scheduler.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Scheduler>> BuiltinSchedulers();

}  // namespace epochd::engine
