// SPDX-License-Identifier: Apache-2.0
//
// How finished jobs go. In two stages, each in steps that cost the control
// thread a few milliseconds: a job leaves the store's lists in the turn's own
// transaction, which is all that anybody can see, and its many events are swept
// afterwards. A crash in between is made good by the next sweep.
#include <algorithm>
#include <vector>

#include "server/control/core.h"
#include "spdlog/spdlog.h"

namespace epochd::control {
namespace {

// Of one turn.
constexpr int32_t kJobsPerStep = 32;
constexpr int32_t kEventsPerStep = 1000;
// Between steps while there is more, so that commands come first.
constexpr absl::Duration kStepPause = absl::Milliseconds(20);
constexpr absl::Duration kIdlePause = absl::Seconds(1);

}  // namespace

void Core::RemoveFinished() {
  if (now_ < next_removal_) return;
  next_removal_ = now_ + kIdlePause;
  const int64_t num_finished = board_.NumTerminal();
  if (num_finished == 0) return;
  const auto oldest = store_.FinishedJobs(kJobsPerStep);
  if (!oldest.ok()) {
    spdlog::error("finished jobs cannot be looked through: {}",
                  std::string(oldest.status().message()));
    return;
  }
  // By the wall clock only where nothing else is known, and a jump ahead while
  // this runs makes no job old.
  const absl::Time wall =
      std::min(clock_.Wall(), loaded_wall_ + (now_ - loaded_at_));
  const auto age_of = [&](const store::FinishedJob& job) {
    const auto it = finished_.find(job.id);
    return it == finished_.end() ? wall - job.end_time : now_ - it->second;
  };
  int64_t excess = num_finished - options_.max_finished_jobs;
  int64_t num_removed = 0;
  for (const store::FinishedJob& job : *oldest) {
    const absl::Duration age = age_of(job);
    const bool too_old = age >= options_.finished_job_ttl;
    if (!too_old && (excess <= 0 || age < options_.min_finished_age)) break;
    --excess;
    if (transaction_.Deletes(job.id)) continue;
    transaction_.DeleteJob(job.id, job.state, "");
    ++num_removed;
  }
  if (num_removed == 0) return;
  transaction_.CountRemoved(num_removed);
  if (num_removed == kJobsPerStep) next_removal_ = now_ + kStepPause;
}

void Core::Sweep() {
  if (!must_sweep_ || now_ < next_sweep_ || retry_at_ || !fatal_.ok()) return;
  next_sweep_ = now_ + kStepPause;
  const auto more = store_.Sweep(kEventsPerStep);
  if (more.ok()) {
    must_sweep_ = *more;
  } else {
    StoreFailed(more.status());
  }
}

}  // namespace epochd::control
