// SPDX-License-Identifier: Apache-2.0
//
// PNG and JPEG images as tensors: uint8, [channels, height, width], contiguous.
//
// Values are those of Pillow's Image.open(...).convert(mode): palettes are
// looked up, 1, 2 and 4 bits are stretched to 8, gamma and colour profiles are
// ignored, alpha is dropped (not blended) where the mode has none, and CMYK
// JPEGs become RGB by Pillow's formula. 16-bit samples keep their high byte.
// JPEGs are decoded by libjpeg-turbo's default methods, which are Pillow's.
//
// Input is not trusted: sizes are checked before anything is allocated, and
// what is broken or ends early throws Error(kBadSpec) naming file and byte.
// Plain functions; any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace epochd::engine {

// Pillow refuses twice its MAX_IMAGE_PIXELS, which is this.
inline constexpr int64_t kMaxImagePixels = 178'956'970;
inline constexpr int64_t kMaxImageFileBytes = int64_t{1} << 30;

enum class ImageMode {
  kGrey,       // 1 channel, ITU-R 601 luma of colours
  kRgb,        // 3
  kRgba,       // 4, opaque where the file has no alpha
  kUnchanged,  // as the file: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
};

// "grey", "rgb", "rgba" or "unchanged". Throws Error(kBadSpec).
ImageMode ParseImageMode(std::string_view name);

// Pixels; a part of an image.
struct Window {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;
};

struct DecodeOptions {
  ImageMode mode = ImageMode::kRgb;
  int64_t max_pixels = kMaxImagePixels;
  // Turn the image as its EXIF orientation says. Pillow, torchvision and so
  // recorded figures do not, unless asked.
  bool exif_orientation = false;
};

struct ImageInfo {
  int64_t height = 0;  // once turned, where options ask for that
  int64_t width = 0;
  int64_t channels = 0;  // of the decoded image
};

// A file's bytes.
struct FileContent {
  std::unique_ptr<uint8_t[]> data;
  size_t size = 0;
  std::string_view view() const {
    return {reinterpret_cast<const char*>(data.get()), size};
  }
};

// Throws Error naming the file: kBadSpec when it is not there, no regular file
// or too large, kInfrastructure when reading fails.
FileContent ReadImageFile(const std::string& path);

// Looks at the header alone. `path` only serves messages, here and below.
ImageInfo InspectImage(std::string_view bytes, const std::string& path,
                       const DecodeOptions& options = {});

at::Tensor DecodeImage(std::string_view bytes, const std::string& path,
                       const DecodeOptions& options = {});
// The part alone, without decoding what lies below it (which is then not
// checked). Same values as slicing the whole. `window` must lie in the image.
at::Tensor DecodeWindow(std::string_view bytes, const std::string& path,
                        const Window& window,
                        const DecodeOptions& options = {});

}  // namespace epochd::engine
