// SPDX-License-Identifier: Apache-2.0
//
// What an attempt's end means for its job: done, failed, or once more. Pure.
// Only ends for one of the policy's reasons count against restart.max; planned
// stops, adoption after a restart of a program and the like do not. An attempt
// that a worker could not start has done nothing: unless the policy names that
// reason, the job is started again, elsewhere where it can be, without
// counting, at most kMaxStartRetries times in a row.
//
// A job waits before a restart, twice as long each time, so that one that ends
// at once does not take a worker's time. It begins anew with each attempt that
// got as far as a checkpoint: what trains for days must not pay for each fault
// more than for the last.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "server/job/job.h"
#include "server/job/state.h"

namespace epochd::job {

inline constexpr int kMaxStartRetries = 5;

struct EndDecision {
  JobState state = JobState::kUnspecified;
  JobReason reason = JobReason::kUnspecified;
  std::string message;
  bool counts_as_restart = false;
};

// `job` still has its live attempt; `reason` and `message` are those that it
// ends with. A job that is stopping never runs again: a cancelled one that had
// finished its training is SUCCEEDED, else CANCELLED; one over its time limit
// is FAILED unless it had finished.
EndDecision DecideEnd(const Job& job, AttemptReason reason,
                      const std::string& message);

// How long a job waits after the n-th attempt in a row that came to nothing (n
// from 1): the policy's backoff, doubled each time, at most a minute. Zero for
// n = 0.
absl::Duration Backoff(const RestartPolicy& policy, int num_in_a_row);

// How long a queued job waits before it may start: Backoff if its last attempt
// ended for a reason that counts or could not be started, else zero.
absl::Duration BackoffOf(const Job& job);

bool Restarts(const RestartPolicy& policy, AttemptReason reason);

}  // namespace epochd::job
