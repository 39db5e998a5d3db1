// SPDX-License-Identifier: Apache-2.0
//
// What the coordinator keeps: jobs with their events, request ids, workers and
// how far each rank's events.jsonl was read. One process uses a store at a
// time. Commit and Load are called by the control thread alone; the const reads
// may run on any thread at the same time and see only what was committed.
//
// Codes of every method:
//   ResourceExhausted  no space; nothing was written, trying again may succeed
//   DataLoss           what is stored cannot be trusted or understood
//   NotFound           as said at the method
//   Unavailable        another process holds the store
//   Internal           any other failure of the disk; after one from Commit
//                      nobody knows what was written, and the process has to
//                      end and start again from the store
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/fleet/worker.h"
#include "server/job/event.h"
#include "server/job/ids.h"
#include "server/job/job.h"
#include "server/job/state.h"

namespace epochd::store {

// How far one rank's events.jsonl has been taken in.
struct EventOffset {
  job::AttemptId attempt;
  int32_t rank = 0;
  int64_t next_offset = 0;

  friend bool operator==(const EventOffset&, const EventOffset&) = default;
};

// Request ids that deleted a job are kept for as many deletions.
inline constexpr int32_t kDeletionsKept = 10000;

// The job that a request_id made, or deleted.
struct RequestRecord {
  std::string request_id;
  job::JobId job;
};

// A job's row after the events of this batch, and these events, in order.
struct JobWrite {
  std::shared_ptr<const job::Job> job;
  std::vector<job::Event> events = {};
};

// All of it becomes durable, or none. Within a batch a job appears once, in
// `jobs` or in `deleted_jobs`.
struct Batch {
  std::vector<JobWrite> jobs = {};
  std::vector<RequestRecord> requests = {};
  std::vector<fleet::WorkerRecord> workers = {};
  std::vector<EventOffset> offsets = {};
  // Forgets the job, its offsets and request ids; unknown ones are skipped. Its
  // events can no longer be read; Sweep takes them away.
  std::vector<job::JobId> deleted_jobs = {};
  // Request ids that did so; the newest kDeletionsKept are remembered.
  std::vector<RequestRecord> deletions = {};
  std::vector<job::WorkerId> forgotten_workers = {};

  bool empty() const {
    return jobs.empty() && requests.empty() && workers.empty() &&
           offsets.empty() && deleted_jobs.empty() && deletions.empty() &&
           forgotten_workers.empty();
  }
};

// Everything that a starting coordinator needs in memory.
struct Snapshot {
  // Jobs that are not terminal, by submit_number.
  std::vector<std::shared_ptr<const job::Job>> live_jobs;
  // Offsets of attempts of live jobs.
  std::vector<EventOffset> offsets;
  std::vector<fleet::WorkerRecord> workers;
  // Jobs by state, terminal ones included.
  std::map<job::JobState, int64_t> num_jobs;
  // One more than the greatest ever stored, of deleted jobs too; 1 at first.
  int64_t next_submit_number = 1;
  // How many times this store was loaded, this time included; durable before
  // Load returns.
  int64_t generation = 1;
  // Random, made with the store; tells one coordinator from another.
  std::string cluster_id;
};

struct ListQuery {
  // Newest first: jobs with submit_number < before; empty: from the newest.
  std::optional<int64_t> before = {};
  int32_t limit = 50;
  // Empty: all.
  std::vector<job::JobState> states = {};
  std::string project = {};
  // All of them have to match.
  std::map<std::string, std::string> labels = {};
};

struct FinishedJob {
  job::JobId id;
  job::JobState state = job::JobState::kUnspecified;
  absl::Time end_time;
};

struct JobPage {
  std::vector<std::shared_ptr<const job::Job>> jobs;
  // Give as `before` for the next page; empty: no more.
  std::optional<int64_t> next_before;
};

class JobStore {
 public:
  virtual ~JobStore() = default;

  // Called once, before anything else.
  virtual absl::StatusOr<Snapshot> Load() = 0;

  // Returns OK only once the batch is durable (synced). On ResourceExhausted
  // nothing was written. An empty batch is OK and touches no disk.
  virtual absl::Status Commit(const Batch& batch) = 0;

  // Commits something that says nothing: OK when there is room again. Of the
  // control thread, as Commit.
  virtual absl::Status Probe() = 0;

  // At most `limit` finished jobs, those first that finished first. Of the
  // control thread.
  virtual absl::StatusOr<std::vector<FinishedJob>> FinishedJobs(
      int32_t limit) = 0;
  // Takes away at most `max_events` events of deleted jobs, in a transaction of
  // its own; returns whether there are more. What a crash cut off is found
  // again. Codes as Commit; of the control thread.
  virtual absl::StatusOr<bool> Sweep(int32_t max_events) = 0;

  // NotFound for a job that is not stored.
  virtual absl::StatusOr<std::shared_ptr<const job::Job>> ReadJob(
      job::JobId id) const = 0;

  // Events with sequence > after, in order, at most `limit`. NotFound for a job
  // that is not stored.
  virtual absl::StatusOr<std::vector<job::Event>> ReadEvents(
      job::JobId id, int64_t after, int32_t limit) const = 0;

  // By submit_number, newest first; stable while others are submitted. Of a
  // job whose record is damaged it has what else is known, and a message.
  virtual absl::StatusOr<JobPage> ListJobs(const ListQuery& query) const = 0;

  // The job that this request made; NotFound for an unknown request_id.
  virtual absl::StatusOr<job::JobId> FindRequest(
      std::string_view request_id) const = 0;
  // The job that this request deleted; NotFound for an unknown request_id.
  virtual absl::StatusOr<job::JobId> FindDeletion(
      std::string_view request_id) const = 0;

  // Whether a stored job's spec names an uploaded file with this content.
  virtual absl::StatusOr<bool> UsesFile(std::string_view sha256) const = 0;
};

}  // namespace epochd::store
