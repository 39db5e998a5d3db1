// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files, versions 1 to 3, either byte order, C or Fortran order.
// Object arrays (pickle) are refused.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

namespace epochd::engine {

// Types: bool, int8-64, uint8, float16/32/64; uint16 is given as int32, uint32
// and uint64 below 2^63 as int64. A big array in C order and this
// machine's byte order is the file's own pages (mapped_file.h), others are in
// memory. Throws Error(kBadSpec) naming file and byte.
at::Tensor ReadNpy(const std::string& path);
// The same from memory; `path` only serves messages.
at::Tensor ParseNpy(std::string_view bytes, const std::string& path);

}  // namespace epochd::engine
