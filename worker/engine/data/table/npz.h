// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npz archives: a zip file of .npy files, stored or deflated. Hostile
// archives are bounded: 10,000 entries, no entry that claims more than deflate
// can give, 16 GiB in all, 1 GiB at more than 200 times its packed size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/core/model.h"

namespace epochd::engine {

// Arrays in the order of the archive, named without `.npy`. Throws
// Error(kBadSpec) naming file, entry and, within an entry, the byte.
std::vector<NamedTensor> ReadNpz(const std::string& path);

}  // namespace epochd::engine
