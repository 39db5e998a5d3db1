// SPDX-License-Identifier: Apache-2.0
#include "hooks/image_grid.h"

#include <ATen/ATen.h>
#include <png.h>

#include <algorithm>

#include "worker/engine/core/error.h"

namespace epochd::hooks {

at::Tensor MakeGrid(const at::Tensor& images, int64_t columns,
                    std::optional<std::pair<double, double>> range) {
  const at::Tensor values =
      images.detach().to(at::kCPU, at::kFloat).contiguous();
  if (values.dim() != 4 || values.size(0) == 0 ||
      (values.size(1) != 1 && values.size(1) != 3)) {
    throw engine::Error(engine::ErrorKind::kBadSpec,
                        "images: of shape " + c10::str(images.sizes()) +
                            "; [n, 1 or 3, height, width] is accepted");
  }
  const double low = range ? range->first : values.min().item<double>();
  const double high = range ? range->second : values.max().item<double>();
  const at::Tensor bytes = ((values - low) / std::max(high - low, 1e-12) * 255)
                               .round()
                               .nan_to_num(0)
                               .clamp(0, 255)
                               .to(at::kByte);
  const int64_t count = bytes.size(0);
  columns = std::min(columns, count);
  const int64_t rows = (count + columns - 1) / columns;
  const int64_t height = bytes.size(2) + 1;
  const int64_t width = bytes.size(3) + 1;
  at::Tensor grid = at::zeros(
      {bytes.size(1), rows * height - 1, columns * width - 1}, at::kByte);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t top = i / columns * height;
    const int64_t left = i % columns * width;
    grid.slice(1, top, top + height - 1)
        .slice(2, left, left + width - 1)
        .copy_(bytes[i]);
  }
  return grid;
}

std::string EncodePng(const at::Tensor& image) {
  const at::Tensor pixels = image.permute({1, 2, 0}).contiguous();
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.height = static_cast<png_uint_32>(pixels.size(0));
  header.width = static_cast<png_uint_32>(pixels.size(1));
  header.format = pixels.size(2) == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  if (png_image_write_to_memory(&header, nullptr, &size, 0,
                                pixels.const_data_ptr(), 0, nullptr) == 0) {
    throw engine::Error(engine::ErrorKind::kTraining,
                        std::string("png: ") + header.message);
  }
  std::string png(size, '\0');
  if (png_image_write_to_memory(&header, png.data(), &size, 0,
                                pixels.const_data_ptr(), 0, nullptr) == 0) {
    throw engine::Error(engine::ErrorKind::kTraining,
                        std::string("png: ") + header.message);
  }
  png.resize(size);
  return png;
}

}  // namespace epochd::hooks
