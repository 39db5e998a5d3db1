// SPDX-License-Identifier: Apache-2.0
//
// Where `load_from` and `resume` point: a checkpoint's folder, a folder of
// checkpoints (its last one), or job/<id>/best and job/<id>/last below the
// storage root; for `load_from` also a safetensors file.
#pragma once

#include <string>
#include <vector>

#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/core/model.h"

namespace epochd::trainer {

// The weights. Throws engine::Error(kBadSpec) when there is nothing there, or
// what is there is broken.
std::vector<engine::NamedTensor> LoadWeights(const std::string& load_from,
                                             const std::string& storage);

// The whole checkpoint; `field`: what named it. Throws the same.
engine::Snapshot ReadNamedCheckpoint(const std::string& field,
                                     const std::string& named,
                                     const std::string& storage);

}  // namespace epochd::trainer
