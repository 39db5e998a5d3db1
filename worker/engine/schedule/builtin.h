// SPDX-License-Identifier: Apache-2.0
//
// The list of built-in learning rate schedulers: declarations and how to build
// each.
#pragma once

#include <vector>

#include "worker/engine/core/lr_scheduler.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<LrScheduler>> BuiltinLrSchedulers();

}  // namespace epochd::engine
