// SPDX-License-Identifier: Apache-2.0
//
// The same training by the engine: Trainer and TrainingRunner as a job has
// them.
#pragma once

#include "bench/loop/workload.h"

namespace epochd::bench {

// `folder` is empty and may be written to. `shipped`: with the hooks that
// epochd-trainer attaches to every job, which write events.jsonl, metrics and a
// checkpoint at the end of the epoch.
Result RunEpochdLoop(const Workload& workload, const Data& data,
                     Batches batches, bool shipped, const std::string& folder);

}  // namespace epochd::bench
