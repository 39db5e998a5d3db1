// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/plane_writer.h"

#include <ATen/ATen.h>

#include <cstring>

namespace epochd::engine {
namespace {

// Pillow's integer form of ITU-R 601-2: weights of 2^16.
uint8_t Luma(int red, int green, int blue) {
  return static_cast<uint8_t>(
      (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

// a * b / 255, rounded, for a and b in [0, 255].
int MultiplyUnit(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

// Adobe writes ink inverted, and so does about everyone.
void InkToRgb(const uint8_t* pixel, uint8_t* rgb) {
  const int light = pixel[3];
  for (int i = 0; i < 3; ++i) {
    rgb[i] = static_cast<uint8_t>(light - MultiplyUnit(255 - pixel[i], light));
  }
}

bool HasColour(PixelFormat format) {
  return format != PixelFormat::kGrey && format != PixelFormat::kGreyAlpha;
}

// Copies channel `from` of `width` pixels of `kStep` bytes.
template <int kStep>
void Pick(const uint8_t* pixels, int64_t width, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x) out[x] = pixels[x * kStep];
}

template <int kStep>
void LumaRow(const uint8_t* pixels, int64_t width, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x, pixels += kStep) {
    out[x] = Luma(pixels[0], pixels[1], pixels[2]);
  }
}

void InkRow(const uint8_t* pixels, int64_t width, int64_t channels,
            int64_t plane_bytes, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x, pixels += 4) {
    uint8_t rgb[3];
    InkToRgb(pixels, rgb);
    if (channels == 1) {
      out[x] = Luma(rgb[0], rgb[1], rgb[2]);
      continue;
    }
    for (int i = 0; i < 3; ++i) out[i * plane_bytes + x] = rgb[i];
  }
}

}  // namespace

int BytesPerPixel(PixelFormat format) {
  switch (format) {
    case PixelFormat::kGrey:
      return 1;
    case PixelFormat::kGreyAlpha:
      return 2;
    case PixelFormat::kRgb:
      return 3;
    default:
      return 4;
  }
}

int64_t ChannelsIn(PixelFormat format, ImageMode mode) {
  switch (mode) {
    case ImageMode::kGrey:
      return 1;
    case ImageMode::kRgb:
      return 3;
    case ImageMode::kRgba:
      return 4;
    default:
      return format == PixelFormat::kCmyk ? 3 : BytesPerPixel(format);
  }
}

PlaneWriter::PlaneWriter(PixelFormat format, ImageMode mode,
                         const Window& window)
    : format_(format),
      mode_(mode),
      window_(window),
      planes_(at::empty({ChannelsIn(format, mode), window.height, window.width},
                        at::kByte)),
      out_(planes_.mutable_data_ptr<uint8_t>()),
      plane_bytes_(window.height * window.width) {}

void PlaneWriter::Write(const uint8_t* row, int64_t y) {
  if (y < window_.top || y >= end_row()) return;
  const int step = BytesPerPixel(format_);
  const int64_t width = window_.width;
  const uint8_t* pixels = row + window_.left * step;
  uint8_t* out = out_ + (y - window_.top) * width;
  const auto plane = [&](int i) { return out + i * plane_bytes_; };
  const int64_t channels = planes_.size(0);
  const bool wants_alpha = channels == 4 || channels == 2;

  switch (format_) {
    case PixelFormat::kGrey:
      std::memcpy(out, pixels, width);
      break;
    case PixelFormat::kGreyAlpha:
      Pick<2>(pixels, width, out);
      if (wants_alpha) Pick<2>(pixels + 1, width, plane(channels - 1));
      break;
    case PixelFormat::kRgb:
      if (channels == 1) {
        LumaRow<3>(pixels, width, out);
        break;
      }
      for (int i = 0; i < 3; ++i) Pick<3>(pixels + i, width, plane(i));
      break;
    case PixelFormat::kRgba:
      if (channels == 1) {
        LumaRow<4>(pixels, width, out);
        break;
      }
      for (int i = 0; i < channels; ++i) Pick<4>(pixels + i, width, plane(i));
      break;
    case PixelFormat::kCmyk:
      InkRow(pixels, width, channels, plane_bytes_, out);
      break;
  }
  if (!HasColour(format_) && channels >= 3) {
    std::memcpy(plane(1), out, width);
    std::memcpy(plane(2), out, width);
  }
  const bool has_alpha =
      format_ == PixelFormat::kGreyAlpha || format_ == PixelFormat::kRgba;
  if (wants_alpha && !has_alpha) {
    std::memset(plane(channels - 1), 255, width);
  }
}

}  // namespace epochd::engine
