// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/scalar.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <cstring>

namespace epochd::engine {
namespace {

// Infinity and NaN have all bits of the exponent set: one more in its last
// place then reaches the sign bit.
bool AreFinite(const float* values, int64_t count) {
  constexpr uint32_t kExponent = 0x7f800000;
  constexpr uint32_t kLastPlace = 0x00800000;
  // So many at once that the compiler uses vector registers.
  constexpr int64_t kWidth = 16;
  uint32_t found[kWidth] = {};
  uint32_t bits[kWidth];
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    std::memcpy(bits, values + i, sizeof(bits));
    for (int64_t j = 0; j < kWidth; ++j) {
      found[j] |= (bits[j] & kExponent) + kLastPlace;
    }
  }
  uint32_t any = 0;
  for (const uint32_t each : found) any |= each;
  for (; i < count; ++i) {
    std::memcpy(bits, values + i, sizeof(bits[0]));
    any |= (bits[0] & kExponent) + kLastPlace;
  }
  return any >> 31 == 0;
}

}  // namespace

double ReadScalar(const at::Tensor& tensor) {
  if (tensor.is_cpu() && tensor.numel() == 1 && !tensor.is_neg()) {
    if (tensor.scalar_type() == at::kFloat) {
      return static_cast<double>(*tensor.const_data_ptr<float>());
    }
    if (tensor.scalar_type() == at::kDouble) {
      return *tensor.const_data_ptr<double>();
    }
  }
  return tensor.item<double>();
}

bool IsFinite(const at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kFloat || !tensor.is_cpu() ||
      !tensor.is_non_overlapping_and_dense()) {
    return at::isfinite(tensor).all().item<bool>();
  }
  return AreFinite(tensor.const_data_ptr<float>(), tensor.numel());
}

at::Tensor WithoutGraph(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.variable_data() : at::Tensor();
}

}  // namespace epochd::engine
