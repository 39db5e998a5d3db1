// SPDX-License-Identifier: Apache-2.0
//
// Bytes, 0 to 255, are not normalized by what was measured on [0, 1].
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string>
#include <vector>

#include "worker/engine/core/error.h"

namespace epochd::engine {

// Whether mean and std, if there are any, are of values in [0, 1].
inline bool AreOfUnitRange(const std::vector<double>& mean,
                           const std::vector<double>& std) {
  const auto is_small = [](double value) { return value <= 1; };
  return !mean.empty() && std::all_of(mean.begin(), mean.end(), is_small) &&
         std::all_of(std.begin(), std.end(), is_small);
}

// Throws Error(kBadSpec) for a field of bytes. `subject`: who normalizes.
inline void RefuseBytes(const std::string& subject, const std::string& field,
                        const at::Tensor& value) {
  if (value.scalar_type() != at::kByte) return;
  throw Error(ErrorKind::kBadSpec,
              subject + ": field \"" + field +
                  "\" holds bytes, 0 to 255, and mean and std are of values "
                  "from 0 to 1; ToFloat before it, or mean and std of 0 to "
                  "255, is accepted");
}

}  // namespace epochd::engine
