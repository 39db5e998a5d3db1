// SPDX-License-Identifier: Apache-2.0
//
// Reads whole files, plain or gzip, with a bound: a hostile file cannot take
// all memory.
#pragma once

#include <cstdint>
#include <string>

namespace epochd::engine {

inline constexpr int64_t kMaxFileBytes = int64_t{16} << 30;

// The content, inflated when the file is gzip. Throws Error naming the file:
// kBadSpec when it is not there, over `max_bytes` (inflated) or broken gzip,
// kInfrastructure when reading fails half-way.
std::string ReadFileBytes(const std::string& path,
                          int64_t max_bytes = kMaxFileBytes);

}  // namespace epochd::engine
