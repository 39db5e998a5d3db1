// SPDX-License-Identifier: Apache-2.0
//
// Views over a BatchSource that change where its epochs end.
#pragma once

#include <cstdint>
#include <memory>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

// Epochs of at most `limit` batches of each rank. The same source when it
// has no more.
std::unique_ptr<BatchSource> LimitBatches(std::unique_ptr<BatchSource> source,
                                          int64_t limit);

// One epoch without end: the epochs of `source` one after the other, each in
// its own order. With a limit, epoch n of it begins where n - 1 of `limit`
// batches ended, and it is not endless. The source must have at least one
// batch; throws Error(kBadSpec) otherwise.
std::unique_ptr<BatchSource> RepeatForever(std::unique_ptr<BatchSource> source,
                                           int64_t limit = kEndless);

}  // namespace epochd::engine
