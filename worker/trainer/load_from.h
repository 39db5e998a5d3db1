// SPDX-License-Identifier: Apache-2.0
//
// Where `load_from` points: a safetensors file, a checkpoint's folder, or
// job/<id>/best and job/<id>/last below the storage root.
#pragma once

#include <string>
#include <vector>

#include "worker/engine/core/model.h"

namespace epochd::trainer {

// The weights. Throws engine::Error(kBadSpec) when there is nothing there.
std::vector<engine::NamedTensor> LoadWeights(const std::string& load_from,
                                             const std::string& storage);

}  // namespace epochd::trainer
