// SPDX-License-Identifier: Apache-2.0
//
// The preprocessor and the batch augments that a job file can name
// (`preprocessor: {type: DevicePreprocessor, batch_augments: [...]}`).
#pragma once

#include <vector>

#include "worker/engine/data/preprocessor.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

std::vector<Entry<Preprocessor>> BuiltinPreprocessors();
std::vector<Entry<BatchAugment>> BuiltinBatchAugments();

}  // namespace epochd::engine
