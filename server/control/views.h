// SPDX-License-Identifier: Apache-2.0
//
// What the controller shows to readers. Plain values; jobs are shared and
// immutable.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/fleet/worker.h"
#include "server/job/event.h"
#include "server/job/job.h"
#include "server/job/state.h"

namespace epochd::control {

struct JobView {
  std::shared_ptr<const job::Job> job;
  // The job's, but while it is queued the scheduler's: why it waits now. That
  // is worked out anew all the time and not journalled.
  job::JobReason reason = job::JobReason::kUnspecified;
  std::string message;
  // 1 is next; 0 when not waiting.
  int32_t queue_position = 0;
  std::optional<job::Progress> progress;

  // Changes with every event.
  std::string Etag() const;
};

struct JobViewPage {
  std::vector<JobView> jobs;
  // Give as ListQuery::before for the next page; empty: no more.
  std::optional<int64_t> next_before;
};

struct EventPage {
  // Never null; sequences after + 1, after + 2, ...
  std::vector<std::shared_ptr<const job::Event>> events;
  // Sequence of the job's newest event.
  int64_t last_sequence = 0;
  // The job is terminal and last_sequence is the last there will ever be.
  bool finished = false;
};

// Progress with a number that grows with each, so that a reader knows whether
// it saw it.
struct NumberedProgress {
  int64_t number = 0;
  absl::Time time;
  job::AttemptNumber attempt;
  job::Progress progress;
};

struct DeviceCount {
  int64_t total = 0;
  int64_t held = 0;
};

// Upper bounds, in seconds, of Stats::queue_wait; the last bucket has none.
inline constexpr std::array<double, 10> kQueueWaitBounds = {
    0.01, 0.1, 1, 5, 15, 60, 300, 1800, 7200, 86400};

// The same of Stats::scheduler_pass.
inline constexpr std::array<double, 10> kSchedulerPassBounds = {
    0.0001, 0.00025, 0.001, 0.0025, 0.01, 0.025, 0.05, 0.1, 0.25, 1};

template <size_t kNumBounds>
struct SecondsHistogram {
  std::array<int64_t, kNumBounds + 1> counts{};
  double sum_seconds = 0;

  void Add(const std::array<double, kNumBounds>& bounds, double seconds) {
    ++counts[std::lower_bound(bounds.begin(), bounds.end(), seconds) -
             bounds.begin()];
    sum_seconds += seconds;
  }
};

// A snapshot for metrics.
struct Stats {
  // Every state is present.
  std::map<job::JobState, int64_t> jobs;
  std::map<fleet::WorkerState, int64_t> workers;
  // Of workers that are not lost.
  std::map<job::DeviceKind, DeviceCount> devices;
  // From being queued to being assigned.
  SecondsHistogram<kQueueWaitBounds.size()> queue_wait;
  // Of the control thread's time that placing jobs takes.
  SecondsHistogram<kSchedulerPassBounds.size()> scheduler_pass;
  // Since the process started.
  int64_t num_commits = 0;
  int64_t num_events = 0;
  int64_t num_commit_failures = 0;
  // Decisions of the controller that Apply refused: a bug of ours.
  int64_t num_refused_decisions = 0;
  // Calls refused since they came from a stale attempt or incarnation.
  int64_t num_fenced = 0;
  // Finished jobs that were removed since they were old or too many.
  int64_t num_removed_jobs = 0;
  int64_t mailbox_length = 0;
  // Commands refused since the mailbox was full.
  int64_t num_overloads = 0;
  // Jobs that are starting, running or stopping.
  std::vector<JobView> active_jobs;
};

}  // namespace epochd::control
