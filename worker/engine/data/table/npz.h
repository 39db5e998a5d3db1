// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npz archives: a zip file of .npy files, stored or deflated. Hostile
// archives are bounded: 10,000 entries, 16 GiB in all, and no entry that claims
// more than MostInflated() of file_bytes.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "worker/engine/core/model.h"

namespace epochd::engine {

// Arrays in the order of the archive, named without `.npy`; only those that are
// `wanted`, where that is given: asked once for each name. Throws
// Error(kBadSpec) naming file, byte and entry; within an array its own byte.
std::vector<NamedTensor> ReadNpz(
    const std::string& path,
    const std::function<bool(const std::string&)>& wanted = {});

}  // namespace epochd::engine
