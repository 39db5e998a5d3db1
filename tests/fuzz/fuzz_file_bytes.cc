// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/memory_file.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/file_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMost = 1 << 20;
  const epochd::engine::MemoryFile file(data, size);
  try {
    const std::string bytes = epochd::engine::ReadFileBytes(file.path(), kMost);
    if (static_cast<int64_t>(bytes.size()) > kMost) std::abort();
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  return 0;
}
