// SPDX-License-Identifier: Apache-2.0
//
// Moving the pixels of images [C, H, W], float or uint8; of labels (fields.h)
// always by the nearest. Angles in degrees,
// counter-clockwise for RotateImage and clockwise for AffineImage, as
// torchvision.transforms.v2.functional has them; results are those of
// torchvision for tensors, but that bytes are resized as Pillow does
// (resample.h). Plain functions; any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace epochd::engine {

enum class Interpolation { kNearest, kBilinear, kBicubic };

// "nearest", "bilinear" or "bicubic". Throws Error(kBadSpec).
Interpolation ParseInterpolation(std::string_view name);

struct AffineMap {
  double angle = 0;
  // Pixels to the right and down.
  double translate_x = 0;
  double translate_y = 0;
  double scale = 1;
  double shear_x = 0;
  double shear_y = 0;
};

// About the center, into an image of the same size. `fill`: outside of the
// image, one value or one per channel. Nearest or bilinear.
at::Tensor AffineImage(const at::Tensor& image, const AffineMap& map,
                       Interpolation interpolation,
                       const std::vector<double>& fill);
at::Tensor RotateImage(const at::Tensor& image, double angle,
                       Interpolation interpolation,
                       const std::vector<double>& fill);

// With kernels stretched when shrinking (antialias), but for nearest. Bicubic
// results of floats may leave [0, 1].
at::Tensor ResizeImage(const at::Tensor& image, int64_t height, int64_t width,
                       Interpolation interpolation);

}  // namespace epochd::engine
