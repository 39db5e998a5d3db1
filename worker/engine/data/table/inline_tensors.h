// SPDX-License-Identifier: Apache-2.0
//
// Tensors written in the job file itself: nested lists of numbers, a sample per
// entry of the outermost list. For small things: tests, truth tables, points.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "catalogue/catalogue.h"

namespace epochd::engine {

// `type`: float32, int64, bool, or empty: bool for true and false,
// int64 for whole numbers where `whole_is_class`, else float32. Throws
// Error(kBadSpec) naming `field` and the first entry that is no number or of
// another length.
at::Tensor TensorOf(const catalogue::Json& values, const std::string& field,
                    const std::string& type, bool whole_is_class);

}  // namespace epochd::engine
