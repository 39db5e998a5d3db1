// SPDX-License-Identifier: Apache-2.0
//
// Unsigned numbers of files in types that LibTorch's operations take.
#pragma once

#include <ATen/ATen.h>

namespace epochd::engine {

// `bits`: unsigned values under the signed type of their width. 16 bits as
// int32, 32 bits as int64; 64 bits as they are, undefined where one is beyond
// int64.
inline at::Tensor WidenUnsigned(const at::Tensor& bits) {
  if (bits.scalar_type() == at::kShort) {
    return bits.to(at::kInt).bitwise_and_(0xffff);
  }
  if (bits.scalar_type() == at::kInt) {
    return bits.to(at::kLong).bitwise_and_(int64_t{0xffffffff});
  }
  return bits.lt(0).any().item<bool>() ? at::Tensor() : bits;
}

}  // namespace epochd::engine
