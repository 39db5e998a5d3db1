// SPDX-License-Identifier: Apache-2.0
//
// Flooding (Ishida et al., 2020): below `level` the loss that is
// differentiated is mirrored, |loss - level| + level, so gradients turn round.
// What is logged stays the loss itself. Pure function, any thread.
#pragma once

#include <ATen/core/Tensor.h>

namespace epochd::engine {

// `level` 0 or less: the loss as it is.
at::Tensor Flood(const at::Tensor& loss, double level);

}  // namespace epochd::engine
