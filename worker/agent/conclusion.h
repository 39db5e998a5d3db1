// SPDX-License-Identifier: Apache-2.0
//
// Why an attempt ended, from how its ranks ended. Pure.
//
// The cause is the earliest rank that failed by itself; a rank that lost its
// peers (exit code 71) is a cause only when no other is. Ranks that ended after
// the agent asked them to are none. Without a cause, all done is COMPLETED; the
// rest was stopped, for the coordinator's reason or, without one,
// STOPPED_WITH_CHECKPOINT if every rank said so, WORKER_LOST else.
#pragma once

#include <string>
#include <vector>

#include "worker/agent/types.h"
#include "worker/link/attempt_folder.h"

namespace epochd::agent {

struct EndedRank {
  int rank = 0;
  link::ExitRecord exit;
};

struct ConclusionInput {
  // Those that ended so far.
  std::vector<EndedRank> ended{};
  bool is_command = false;
  // The coordinator's, once it wanted the attempt ended.
  AttemptReason stop_reason = AttemptReason::kUnspecified;
  // The agent ended it as its lease was over.
  bool fenced = false;
};

struct Conclusion {
  AttemptReason reason = AttemptReason::kUnspecified;
  // Rank that is to blame; -1: none is.
  int rank = -1;
  // How that rank ended; empty: no rank is to blame.
  std::string how{};
  // It only lost its peers: the first to fail was on another worker.
  bool lost_peers = false;
};

// The rank to blame so far, if any: reason unspecified means none.
Conclusion FindCause(const ConclusionInput& input);

// The whole, once every rank ended.
Conclusion Conclude(const ConclusionInput& input);

}  // namespace epochd::agent
