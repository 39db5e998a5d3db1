// SPDX-License-Identifier: Apache-2.0
//
// PlaneWriter: takes an image's rows from a decoder, top to bottom, interleaved
// and 8 bits, and writes what falls into a window as planes [C, h, w] in the
// mode that is wanted. One image, one thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "worker/engine/data/image/image.h"

namespace epochd::engine {

enum class PixelFormat { kGrey, kGreyAlpha, kRgb, kRgba, kCmyk };

// Bytes of a pixel.
int BytesPerPixel(PixelFormat format);
// Channels of `format` once it is in `mode`.
int64_t ChannelsIn(PixelFormat format, ImageMode mode);

class PlaneWriter {
 public:
  PlaneWriter(PixelFormat format, ImageMode mode, const Window& window);

  // Row `y` of the image, whole. Rows outside of the window do nothing.
  void Write(const uint8_t* row, int64_t y);
  // Rows from this one on are not needed.
  int64_t end_row() const { return window_.top + window_.height; }
  at::Tensor Take() { return std::move(planes_); }

 private:
  const PixelFormat format_;
  const ImageMode mode_;
  const Window window_;
  at::Tensor planes_;
  uint8_t* out_;
  int64_t plane_bytes_;
};

}  // namespace epochd::engine
