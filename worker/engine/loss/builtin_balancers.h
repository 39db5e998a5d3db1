// SPDX-License-Identifier: Apache-2.0
//
// The list of built-in loss balancers: declarations and how to build each.
// Names and defaults are PhiJAX's.
#pragma once

#include <vector>

#include "worker/engine/loss/balancer.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<LossBalancer>> BuiltinLossBalancers();

}  // namespace epochd::engine
