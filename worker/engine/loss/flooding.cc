// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/flooding.h"

#include <ATen/ATen.h>

namespace epochd::engine {

at::Tensor Flood(const at::Tensor& loss, double level) {
  if (level <= 0.0) return loss;
  return (loss - level).abs() + level;
}

}  // namespace epochd::engine
