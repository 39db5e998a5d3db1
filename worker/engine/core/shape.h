// SPDX-License-Identifier: Apache-2.0
//
// What shapes that were read from files are checked against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace epochd::engine {

// Whether a tensor of this shape can be made, with values of `item_bytes`:
// no size is negative, and strides in bytes fit int64. A shape with a 0 in it
// has no values, but LibTorch still multiplies the other sizes.
inline bool IsPossibleShape(std::span<const int64_t> shape, size_t item_bytes) {
  auto bytes = static_cast<int64_t>(item_bytes);
  for (const int64_t size : shape) {
    if (size < 0) return false;
    if (__builtin_mul_overflow(bytes, size > 0 ? size : 1, &bytes)) {
      return false;
    }
  }
  return true;
}

}  // namespace epochd::engine
