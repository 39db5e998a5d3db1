// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's store in one SQLite file, <folder>/epochd.db: write-ahead
// log, synced at each commit. One connection writes, for the control thread;
// another reads, for everyone else, under a mutex. Holds the folder's lock for
// as long as it lives.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/store/job_store.h"
#include "server/store/sqlite.h"
#include "server/store/state_folder.h"

namespace epochd::store {

class SqliteJobStore final : public JobStore {
 public:
  struct Options {
    // Made when missing.
    std::string folder;
    // SQLite's name of the file system layer; empty: its default.
    std::string vfs = {};
    // Folders of what jobs left. With a file in one of them a store that is
    // missing or empty is DataLoss.
    std::vector<std::string> kept = {};
  };

  // Checks the file before anything is read from it. DataLoss for one that is
  // damaged, of a newer version, or that lost its write-ahead log: nothing was
  // changed then. Unavailable when another process holds the folder.
  static absl::StatusOr<std::unique_ptr<SqliteJobStore>> Open(
      const Options& options);
  // Leaves one file with everything in it, unless the disk failed.
  ~SqliteJobStore() override;

  absl::StatusOr<Snapshot> Load() override;
  absl::Status Commit(const Batch& batch) override;
  absl::Status Probe() override;
  absl::StatusOr<std::vector<FinishedJob>> FinishedJobs(int32_t limit) override;
  absl::StatusOr<bool> Sweep(int32_t max_events) override;
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
  SqliteJobStore(StateFolder folder, std::unique_ptr<Connection> writer,
                 std::unique_ptr<Connection> reader);

  absl::Status WriteJob(const JobWrite& write);
  absl::Status DeleteJob(job::JobId id);

  StateFolder folder_;
  const std::unique_ptr<Connection> writer_;
  mutable absl::Mutex reader_mutex_;
  std::unique_ptr<Connection> reader_ ABSL_PT_GUARDED_BY(reader_mutex_);
};

}  // namespace epochd::store
