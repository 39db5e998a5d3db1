// SPDX-License-Identifier: Apache-2.0
//
// Removes logs of jobs that are gone and files that no job uses, on a thread of
// its own. Told of a job (Remove) it removes the logs at once; at its start and
// then every `interval` it looks through all there is, so that what a crash or
// an error left behind goes too. Outlives who tells it of jobs, not whom it
// asks about them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/events/file_store.h"
#include "server/events/log_store.h"
#include "server/job/ids.h"

namespace epochd::events {

class Sweeper {
 public:
  struct Options {
    absl::Duration interval = absl::Hours(1);
    // A file is kept for so long after it was uploaded or a submit asked for
    // it, for the job that is about to use it.
    absl::Duration keep_files_for = absl::Hours(1);
    // Whether the coordinator keeps the job; whether a job that it keeps uses
    // the file. Called on the sweeper's thread; after an error what was asked
    // about stays.
    std::function<absl::StatusOr<bool>(job::JobId)> keeps_job;
    std::function<absl::StatusOr<bool>(const std::string& sha256)> uses_file;
  };

  // The stores outlive it. Nothing happens before Start.
  Sweeper(Options options, LogStore& logs, FileStore& files);
  // Ends after the removal in progress.
  ~Sweeper();
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;

  // Once.
  void Start();
  // Any thread; does not wait. Of more jobs than it can note down the next look
  // through all takes care.
  void Remove(const std::vector<job::JobId>& jobs);

 private:
  void Run();
  bool MustWake() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !jobs_.empty();
  }
  bool IsStopping() const;
  void RemoveLogs(job::JobId job);
  void LookThroughAll();

  const Options options_;
  LogStore& logs_;
  FileStore& files_;
  mutable absl::Mutex mutex_;
  std::vector<job::JobId> jobs_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace epochd::events
