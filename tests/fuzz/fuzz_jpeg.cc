// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "tests/fuzz/decode_any_image.h"

// The first byte chooses the mode and whether the image is turned, so that
// each is met; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1),
                               size - 1);
  epochd::engine::DecodeAnyImage(bytes, data[0]);
  return 0;
}
