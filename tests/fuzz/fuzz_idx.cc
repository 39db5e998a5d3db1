// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <cstdint>

#include "tests/fuzz/memory_file.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const epochd::engine::MemoryFile file(data, size);
  try {
    epochd::engine::ReadIdx(file.path());
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  return 0;
}
