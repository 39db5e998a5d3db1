// SPDX-License-Identifier: Apache-2.0
//
// Images as a PNG: a batch laid out as a grid. Plain functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <utility>

namespace epochd::hooks {

// [n, C, H, W] with 1 or 3 channels as one [C, h, w] byte image, `columns`
// beside each other with a line of one pixel between. Values from `range` (the
// least and the greatest value when not given) are mapped to 0..255.
at::Tensor MakeGrid(const at::Tensor& images, int64_t columns,
                    std::optional<std::pair<double, double>> range);

// A [C, h, w] byte image. Throws engine::Error(kTraining) when libpng fails.
std::string EncodePng(const at::Tensor& image);

}  // namespace epochd::hooks
