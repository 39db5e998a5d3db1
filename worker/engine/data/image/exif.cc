// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/exif.h"

#include <ATen/ATen.h>

#include <cstdint>

namespace epochd::engine {
namespace {

constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kShortType = 3;

}  // namespace

int ExifOrientation(std::string_view tiff) {
  if (tiff.size() < 8) return 1;
  const bool is_big = tiff.substr(0, 2) == "MM";
  if (!is_big && tiff.substr(0, 2) != "II") return 1;
  const auto number = [&](size_t at, size_t width) {
    uint32_t value = 0;
    for (size_t i = 0; i < width; ++i) {
      const size_t place = is_big ? i : width - 1 - i;
      value = value << 8 | static_cast<uint8_t>(tiff[at + place]);
    }
    return value;
  };
  const size_t directory = number(4, 4);
  if (directory + 2 > tiff.size()) return 1;
  const size_t entries = number(directory, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (entry + 12 > tiff.size()) return 1;
    if (number(entry, 2) != kOrientationTag) continue;
    const uint32_t value = number(entry + 8, 2);
    const bool is_valid =
        number(entry + 2, 2) == kShortType && value >= 1 && value <= 8;
    return is_valid ? static_cast<int>(value) : 1;
  }
  return 1;
}

bool OrientationSwapsSides(int orientation) { return orientation >= 5; }

at::Tensor Orient(const at::Tensor& image, int orientation) {
  switch (orientation) {
    case 2:
      return image.flip({2});
    case 3:
      return image.flip({1, 2});
    case 4:
      return image.flip({1});
    case 5:
      return image.transpose(1, 2).contiguous();
    case 6:
      return image.transpose(1, 2).flip({2}).contiguous();
    case 7:
      return image.transpose(1, 2).flip({1, 2}).contiguous();
    case 8:
      return image.transpose(1, 2).flip({1}).contiguous();
    default:
      return image;
  }
}

}  // namespace epochd::engine
