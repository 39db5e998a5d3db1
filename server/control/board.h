// SPDX-License-Identifier: Apache-2.0
//
// What was committed last, for readers on any thread. The controller's thread
// writes it after each commit, before it answers anybody. Jobs that are not
// terminal are here; the others are read from the store.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/control/agent_messages.h"
#include "server/control/subscription.h"
#include "server/control/views.h"
#include "server/fleet/worker.h"
#include "server/job/job.h"
#include "server/schedule/plan.h"
#include "server/store/job_store.h"

namespace epochd::control {

class Board {
 public:
  using JobPtr = std::shared_ptr<const job::Job>;
  using DesiredPtr = std::shared_ptr<const DesiredState>;
  using DesiredCallback = std::function<void(absl::StatusOr<DesiredPtr>)>;
  using WaitingMap =
      std::unordered_map<job::JobId, schedule::Waiting, absl::Hash<job::JobId>>;

  // `store` outlives it.
  Board(const store::JobStore& store, int32_t tail_events)
      : store_(store), tail_events_(tail_events) {}

  // ---- written by the controller's thread -----------------------------------

  void SetTerminalCounts(std::map<job::JobState, int64_t> counts);
  void AddTerminal(job::JobState state, int64_t change);
  // A job's new state with the events that led there; a terminal one leaves.
  void PublishJob(JobPtr job, const std::vector<job::Event>& events);
  void PublishWaiting(std::shared_ptr<const WaitingMap> waiting);
  void PublishProgress(job::JobId id, job::AttemptNumber attempt,
                       absl::Time time, job::Progress progress);
  void PublishWorker(const fleet::WorkerRecord& record,
                     fleet::WorkerState state, std::string message);
  void PublishSeen(const job::WorkerId& id, absl::Time time);
  void PublishDesired(const job::WorkerId& id, DesiredPtr desired);
  // Ends its watches.
  void ForgetWorker(const job::WorkerId& id);
  // Whether the store takes writes, with the reason; returns whether that
  // changed between OK and not.
  bool SetStoreStatus(absl::Status status);
  // Ends the watches of older agents of this name.
  void Supersede(const job::WorkerId& id, const job::Incarnation& current);
  int64_t NumTerminal() const;
  // Wakes those that watch the job.
  void WakeJob(job::JobId id);
  // Sums of the controller's own, copied into GetStats.
  void Count(const std::function<void(Stats&)>& change);

  // ---- read by anyone -------------------------------------------------------

  absl::StatusOr<JobView> Get(job::JobId id) const;
  absl::StatusOr<JobViewPage> List(const store::ListQuery& query) const;
  absl::StatusOr<EventPage> ReadEvents(job::JobId id, int64_t after,
                                       int32_t limit) const;
  std::optional<NumberedProgress> ReadProgress(job::JobId id,
                                               int64_t after) const;
  std::vector<fleet::WorkerView> ListWorkers() const;
  absl::StatusOr<fleet::WorkerView> GetWorker(const job::WorkerId& id) const;
  Stats GetStats() const;
  absl::Status StoreStatus() const;

  absl::Status Admit(const job::WorkerId& worker,
                     const job::Incarnation& incarnation,
                     const job::AttemptId& attempt, int32_t rank) const;
  DesiredPtr Desired(const job::WorkerId& id) const;

  absl::StatusOr<std::unique_ptr<Subscription>> WatchJob(
      job::JobId id, std::function<void()> wake);
  absl::StatusOr<std::unique_ptr<Subscription>> WatchDesired(
      const job::WorkerId& worker, const job::Incarnation& incarnation,
      DesiredCallback changed);

 private:
  struct LiveJob {
    JobPtr job;
    // The newest events, dense, the last one has the job's last_sequence.
    std::deque<std::shared_ptr<const job::Event>> tail;
    std::optional<NumberedProgress> progress;
  };
  struct Worker {
    fleet::WorkerRecord record;
    fleet::WorkerState state = fleet::WorkerState::kUnspecified;
    std::string message;
    absl::Time seen = absl::InfinitePast();
    DesiredPtr desired;
    CallbackList<absl::StatusOr<DesiredPtr>> watchers;
  };

  JobView ViewLocked(const JobPtr& job) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  fleet::WorkerView ViewLocked(const Worker& worker) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  std::map<job::WorkerId, std::map<std::string, job::AttemptId>> HeldLocked()
      const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const store::JobStore& store_;
  const int32_t tail_events_;

  mutable absl::Mutex mutex_;
  std::unordered_map<job::JobId, LiveJob, absl::Hash<job::JobId>> live_
      ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const WaitingMap> waiting_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<WaitingMap>();
  std::map<job::WorkerId, Worker> workers_ ABSL_GUARDED_BY(mutex_);
  std::map<job::JobId, CallbackList<std::monostate>> job_watchers_
      ABSL_GUARDED_BY(mutex_);
  // Lists of ended watches are dropped when there are this many.
  size_t sweep_at_ ABSL_GUARDED_BY(mutex_) = 64;
  std::map<job::JobState, int64_t> terminal_ ABSL_GUARDED_BY(mutex_);
  int64_t progress_number_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable Stats sums_ ABSL_GUARDED_BY(mutex_);
  absl::Status store_status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace epochd::control
