// SPDX-License-Identifier: Apache-2.0
//
// How structural similarity is declared, as a loss and as a metric.
#pragma once

#include <vector>

#include "worker/engine/loss/ssim.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

// With `multi_scale` also the weights of scales.
std::vector<catalogue::Parameter> SsimParameters(bool multi_scale);

SsimOptions ReadSsim(const Params& params);

}  // namespace epochd::engine
