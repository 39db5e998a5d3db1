// SPDX-License-Identifier: Apache-2.0
//
// A job is the fold of its events: Apply is pure and the only way to move one.
// Values; a Job shared between threads is `std::shared_ptr<const Job>`. Copies
// are cheap: the spec is shared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/job/event.h"
#include "server/job/ids.h"
#include "server/job/spec.h"
#include "server/job/state.h"

namespace epochd::job {

struct Attempt {
  AttemptNumber number;
  AttemptState state = AttemptState::kUnspecified;
  AttemptReason reason = AttemptReason::kUnspecified;
  std::string message;
  absl::Time assign_time = absl::InfinitePast();
  std::optional<absl::Time> start_time;
  std::optional<absl::Time> end_time;
  // In rank order; ranks[i].rank == i.
  std::vector<RankPlacement> ranks;
};

struct Job {
  JobId id;
  std::shared_ptr<const JobSpec> spec;
  int64_t submit_number = 0;
  JobState state = JobState::kUnspecified;
  JobReason reason = JobReason::kUnspecified;
  std::string message;
  absl::Time create_time = absl::InfinitePast();
  std::optional<absl::Time> start_time;
  std::optional<absl::Time> end_time;
  // In order; the last one is the current.
  std::vector<Attempt> attempts;
  // Attempts that counted against restart.max.
  int32_t num_restarts = 0;
  // Of ended attempts together.
  absl::Duration run_time = absl::ZeroDuration();
  // Last finished epoch's metrics, those of validation of the last one, also
  // within an epoch; and the best of the monitored one.
  std::map<std::string, double> metrics;
  std::optional<BestMetric> best;
  // How long that epoch took, and its training waited for data.
  absl::Duration epoch_time = absl::ZeroDuration();
  absl::Duration data_wait = absl::ZeroDuration();
  // The last finished epoch, from 1 (0: none yet), and how many there are to be
  // (0: not known).
  int64_t epoch = 0;
  int64_t total_epochs = 0;
  int64_t last_sequence = 0;
  // Recorded and not removed, oldest first.
  std::vector<Checkpoint> checkpoints;
  // The last TrainingEnded said where these are.
  std::map<std::string, std::string> outputs;

  bool IsTerminal() const { return job::IsTerminal(state); }
  // The attempt that has not ended, or null. At most one exists.
  const Attempt* LiveAttempt() const;
  // The current or last attempt's number; 0 before the first.
  AttemptNumber CurrentAttempt() const;
};

// Moves `job` by `event`; `job` starts as Job{.id = ...}. On an error `job` is
// unchanged:
//   FailedPrecondition: the edge is not drawn in state.h, the sequence is not
//     the next one, the event is of an attempt that is not the live one, or job
//     and attempt would contradict one another (a terminal or queued job with a
//     live attempt, a running job without one).
//   InvalidArgument: the event cannot stand for anything (an empty placement,
//     a reason that does not explain its state).
absl::Status Apply(Job& job, const Event& event);

}  // namespace epochd::job
