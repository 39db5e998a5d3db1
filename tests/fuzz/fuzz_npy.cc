// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/memory_file.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/npy.h"

// From memory and from a file, which must be the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const epochd::engine::MemoryFile file(data, size);
  at::Tensor parsed;
  try {
    parsed = epochd::engine::ParseNpy(bytes, "fuzz");
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  try {
    const at::Tensor read = epochd::engine::ReadNpy(file.path());
    // Of gzip there is nothing in memory to compare with.
    const bool is_gzip = bytes.starts_with("\x1f\x8b");
    if (!is_gzip && (!parsed.defined() || read.sizes() != parsed.sizes())) {
      std::abort();
    }
  } catch (const epochd::engine::Error&) {
    if (parsed.defined()) std::abort();
  }
  return 0;
}
