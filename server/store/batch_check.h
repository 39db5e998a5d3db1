// SPDX-License-Identifier: Apache-2.0
//
// What every implementation refuses before it writes.
#pragma once

#include "absl/status/status.h"
#include "server/store/job_store.h"

namespace epochd::store {

// Internal for a batch that contradicts itself: a job without spec or named
// twice, or events that are not dense up to the job's last_sequence.
absl::Status CheckBatch(const Batch& batch);

}  // namespace epochd::store
