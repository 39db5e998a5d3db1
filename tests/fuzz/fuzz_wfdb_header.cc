// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "worker/engine/core/error.h"
#include "worker/engine/data/signal/wfdb_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    epochd::engine::ParseWfdbHeader(bytes, "fuzz");
  } catch (const epochd::engine::Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  return 0;
}
