// SPDX-License-Identifier: Apache-2.0
//
// Tensors as generators describe them in recorded cases; recording.py has the
// rule in Python.
#pragma once

#include <torch/types.h>

#include <nlohmann/json.hpp>

#include "worker/engine/core/batch.h"

namespace epochd::engine::golden {

at::Tensor DescribedField(const nlohmann::json& described);
// Of {"name": described, ...}.
Batch DescribedBatch(const nlohmann::json& fields);

}  // namespace epochd::engine::golden
