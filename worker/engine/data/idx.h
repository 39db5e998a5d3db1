// SPDX-License-Identifier: Apache-2.0
//
// IDX files (plain or gzip), the format of MNIST: two zero bytes, a type byte,
// the number of dimensions, each dimension as a big-endian 32-bit number, then
// the values, big-endian, last dimension fastest.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

// Types u8, i8, i16, i32, f32, f64. Takes memory once the header is known to
// fit the file. Throws Error(kBadSpec) naming file, byte and what is wrong.
at::Tensor ReadIdx(const std::string& path);

struct IdxOptions {
  std::string images;  // [N, H, W]
  std::string labels;  // [N]; empty: no `target`
  bool scale = true;   // divide by 255
};

// Fields: `input` (float, [1, H, W]) and `target` (int64 scalar).
std::shared_ptr<Dataset> LoadIdx(const IdxOptions& options);

}  // namespace epochd::engine
