// SPDX-License-Identifier: Apache-2.0
//
// The rank's side of the fork: from a copy of the keeper to a clean process
// that runs the job's command or `rank_main`.
#pragma once

#include <sys/types.h>

#include "worker/link/attempt_spec.h"
#include "worker/process/keeper/rank_request.h"

namespace epochd::keeper {

// Becomes the rank; called in the child, never returns. `keeper_pid` is the
// parent: when it is gone already, so is this.
[[noreturn]] void BecomeRank(const link::AttemptSpec& spec,
                             const link::RankSpec& rank,
                             const RankRequest& request,
                             const RankMain& rank_main, pid_t keeper_pid);

}  // namespace epochd::keeper
