// SPDX-License-Identifier: Apache-2.0
//
// The samplers that a job file can name
// (`data.train: {..., sampler: {type: BalancedSampler}}`).
#pragma once

#include <vector>

#include "worker/engine/data/sampler.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Sampler>> BuiltinSamplers();

}  // namespace epochd::engine
