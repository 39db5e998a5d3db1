// SPDX-License-Identifier: Apache-2.0
//
// A store that forgets with the process: the fake of tests and simulations. It
// keeps its content across Load, so that one object plays the disk of a
// coordinator that is restarted.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/store/job_store.h"

namespace epochd::store {

class MemoryJobStore final : public JobStore {
 public:
  explicit MemoryJobStore(std::string cluster_id = "memory")
      : cluster_id_(std::move(cluster_id)) {}

  absl::StatusOr<Snapshot> Load() override;
  absl::Status Commit(const Batch& batch) override;
  absl::Status Probe() override { return absl::OkStatus(); }
  absl::StatusOr<std::vector<FinishedJob>> FinishedJobs(int32_t limit) override;
  absl::StatusOr<bool> Sweep(int32_t) override { return false; }
  absl::StatusOr<std::shared_ptr<const job::Job>> ReadJob(
      job::JobId id) const override;
  absl::StatusOr<std::vector<job::Event>> ReadEvents(
      job::JobId id, int64_t after, int32_t limit) const override;
  absl::StatusOr<JobPage> ListJobs(const ListQuery& query) const override;
  absl::StatusOr<job::JobId> FindRequest(
      std::string_view request_id) const override;
  absl::StatusOr<job::JobId> FindDeletion(
      std::string_view request_id) const override;
  absl::StatusOr<bool> UsesFile(std::string_view sha256) const override;

 private:
  struct Entry {
    std::shared_ptr<const job::Job> job;
    std::vector<job::Event> events;
    std::map<std::pair<job::AttemptNumber, int32_t>, int64_t> offsets;
  };

  absl::Status CheckLocked(const Batch& batch) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const std::string cluster_id_;
  mutable absl::Mutex mutex_;
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_submit_number_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<job::JobId, Entry> jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, job::JobId> by_number_ ABSL_GUARDED_BY(mutex_);
  // Finished ones.
  std::set<std::pair<absl::Time, job::JobId>> by_end_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, job::JobId, std::less<>> requests_
      ABSL_GUARDED_BY(mutex_);
  // In the order of the deletions.
  std::deque<RequestRecord> deletions_ ABSL_GUARDED_BY(mutex_);
  std::map<job::WorkerId, fleet::WorkerRecord> workers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace epochd::store
