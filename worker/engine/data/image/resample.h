// SPDX-License-Identifier: Apache-2.0
//
// Resizing of uint8 images [C, H, W], equal to others' to the bit:
//
//   pillow   Image.resize(size, resample) of Pillow, which is also what
//            torchvision does to PIL images: kernels stretched when shrinking,
//            weights in 22-bit fixed point, along rows first, 8 bits between.
//   matlab   imresize(image, size, 'bicubic') of MATLAB on uint8, what SR data
//            sets are made with: kernel stretched, borders mirrored, weights in
//            double, the side that shrinks most first (height when equal),
//            8 bits between, halves rounded up.
//
// Both cubics have a = -0.5 (Keys 1981). Plain functions; any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "worker/engine/data/image/image.h"

namespace epochd::engine {

enum class Resampling {
  kPillowBilinear,
  kPillowBicubic,
  kPillowLanczos,
  kMatlabBicubic,
};

// The whole image; sides of at least 1.
at::Tensor Resize(const at::Tensor& image, int64_t height, int64_t width,
                  Resampling resampling);

// The part `out` of Resize(whole, ...), from a part of the whole.
struct PartialResize {
  // Sides of the whole, before and after.
  int64_t height_in = 0;
  int64_t width_in = 0;
  int64_t height_out = 0;
  int64_t width_out = 0;
  Window out;
  Resampling resampling = Resampling::kPillowBicubic;

  // What of the whole it reads.
  Window Needs() const;
  // `part` is that window of the whole.
  at::Tensor Apply(const at::Tensor& part) const;
};

}  // namespace epochd::engine
