// SPDX-License-Identifier: Apache-2.0
//
// The orientation in EXIF data (a TIFF structure), and turning by it.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

namespace epochd::engine {

// 1 to 8; 1 (as stored) when `tiff` holds none or is broken.
int ExifOrientation(std::string_view tiff);
// Whether height and width change places.
bool OrientationSwapsSides(int orientation);
// [C, H, W] as it is to be looked at; contiguous.
at::Tensor Orient(const at::Tensor& image, int orientation);

}  // namespace epochd::engine
