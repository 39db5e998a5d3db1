// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/memory_file.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"

// From memory and from a file, which must be the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const epochd::engine::MemoryFile file(data, size);
  int64_t parsed = -1;
  try {
    parsed = static_cast<int64_t>(
        epochd::engine::UnpackTensors("fuzz", bytes).size());
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  int64_t mapped = -1;
  try {
    mapped = static_cast<int64_t>(
        epochd::engine::MapSafetensors(file.path()).size());
  } catch (const epochd::engine::Error&) {
  }
  if (parsed != mapped) std::abort();
  return 0;
}
