// SPDX-License-Identifier: Apache-2.0
//
// One rank of an attempt, from attempt.json to the exit code. Runs in a
// process of its own that has started no thread yet.
#pragma once

#include "worker/process/keeper/rank_request.h"

namespace epochd::trainer {

// Returns a code of worker/link/exit_code.h. What went wrong is told by a line
// as well.
int RunRank(const keeper::RankRequest& request);

}  // namespace epochd::trainer
