// SPDX-License-Identifier: Apache-2.0
//
// What one turn of the controller is about to commit. Jobs are copied when
// first touched, so that a failed commit is undone by dropping the transaction.
// Control thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/job/event.h"
#include "server/job/ids.h"
#include "server/job/job.h"
#include "server/store/job_store.h"

namespace epochd::control {

class Transaction {
 public:
  struct Touched {
    // Null for a job that is new.
    std::shared_ptr<const job::Job> before;
    std::shared_ptr<job::Job> after;
    std::vector<job::Event> events;
  };
  using TouchedJobs = std::map<job::JobId, Touched>;
  using OffsetKey = std::pair<job::AttemptId, int32_t>;

  // Appends an event to what this transaction made of the job, else to
  // `before`, the committed one; null starts a new job. On an error (see
  // job::Apply) nothing changed.
  absl::Status Emit(job::JobId id,
                    const std::shared_ptr<const job::Job>& before,
                    job::AttemptNumber attempt, absl::Time time,
                    job::EventBody body);

  void AddRequest(std::string request_id, job::JobId job);
  void SetWorker(fleet::WorkerRecord record);
  void SetOffset(const job::AttemptId& attempt, int32_t rank, int64_t offset);
  // `state`: the one that it finished in. `request_id` may be empty.
  void DeleteJob(job::JobId id, job::JobState state, std::string request_id);
  // So many of the deleted ones were removed by age, not by request.
  void CountRemoved(int64_t num_jobs) { num_removed_ += num_jobs; }
  void ForgetWorker(job::WorkerId id);
  // Runs if the transaction is dropped: takes back what was changed outside.
  void OnDrop(std::function<void()> undo);

  // What the transaction made of a job, or null if it did not touch it.
  const job::Job* Find(job::JobId id) const;
  std::optional<job::JobId> FindRequest(const std::string& request_id) const;
  std::optional<int64_t> FindOffset(const job::AttemptId& attempt,
                                    int32_t rank) const;
  bool Deletes(job::JobId id) const;
  std::optional<job::JobId> FindDeletion(const std::string& request_id) const;

  const TouchedJobs& touched() const { return jobs_; }
  const std::map<OffsetKey, int64_t>& offsets() const { return offsets_; }
  const std::map<job::JobId, job::JobState>& deleted() const {
    return deleted_;
  }
  int64_t num_removed() const { return num_removed_; }
  const std::vector<job::WorkerId>& forgotten() const { return forgotten_; }

  // Nothing to commit.
  bool empty() const {
    return jobs_.empty() && requests_.empty() && workers_.empty() &&
           offsets_.empty() && deleted_.empty() && forgotten_.empty();
  }
  // Everything, for the store.
  store::Batch ToBatch() const;
  // Forgets all after a commit; Drop runs the undo steps first, newest first.
  void Clear();
  void Drop();

 private:
  absl::Status Append(Touched& touched, job::AttemptNumber attempt,
                      absl::Time time, job::EventBody body);

  TouchedJobs jobs_;
  std::map<std::string, job::JobId> requests_;
  std::map<job::WorkerId, fleet::WorkerRecord> workers_;
  std::map<OffsetKey, int64_t> offsets_;
  std::map<job::JobId, job::JobState> deleted_;
  std::map<std::string, job::JobId> deletions_;
  int64_t num_removed_ = 0;
  std::vector<job::WorkerId> forgotten_;
  std::vector<std::function<void()>> undo_;
};

}  // namespace epochd::control
