// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>

#include "worker/engine/core/error.h"
#include "worker/engine/data/image/image.h"

// The first byte chooses the mode and whether the image is turned, so that
// each is met; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace epochd::engine;  // NOLINT
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1),
                               size - 1);
  const DecodeOptions options{.mode = static_cast<ImageMode>(data[0] & 3),
                              .max_pixels = 1 << 20,
                              .exif_orientation = (data[0] & 4) != 0};
  try {
    const ImageInfo info = InspectImage(bytes, "fuzz", options);
    DecodeWindow(bytes, "fuzz",
                 {info.height / 3, info.width / 3, (info.height + 2) / 3,
                  (info.width + 2) / 3},
                 options);
    DecodeImage(bytes, "fuzz", options);
  } catch (const Error&) {
    // Refused, as it may be; anything else that is thrown is a bug.
  }
  return 0;
}
