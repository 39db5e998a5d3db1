// SPDX-License-Identifier: Apache-2.0
//
// Colours of images [C, H, W], float in [0, 1] or uint8, by the formulas of
// torchvision.transforms.v2.functional, roundings of uint8 included. Each
// returns a new tensor. 3 channels, or 1 where it has a meaning; else throws
// Error(kBadSpec). Plain functions; any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace epochd::engine {

// Blends with black, the mean grey, the grey image; 1 changes nothing.
at::Tensor AdjustBrightness(const at::Tensor& image, double factor);
at::Tensor AdjustContrast(const at::Tensor& image, double factor);
at::Tensor AdjustSaturation(const at::Tensor& image, double factor);
// Turns the hue by `turn` of a circle, in [-0.5, 0.5].
at::Tensor AdjustHue(const at::Tensor& image, double turn);
// ITU-R 601 luma, 1 or 3 channels.
at::Tensor ToGrey(const at::Tensor& image, int64_t channels);

}  // namespace epochd::engine
