// SPDX-License-Identifier: Apache-2.0
//
// Reads a file as an image in all ways there are; PNG and JPEG fuzz it.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>

#include "worker/engine/core/error.h"
#include "worker/engine/data/image/image.h"

namespace epochd::engine {

// `choice` says the mode and whether the image is turned, so that each is met.
inline void DecodeAnyImage(std::string_view bytes, uint8_t choice) {
  const DecodeOptions options{.mode = static_cast<ImageMode>(choice & 3),
                              .max_pixels = 1 << 20,
                              .exif_orientation = (choice & 4) != 0};
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
}

}  // namespace epochd::engine
