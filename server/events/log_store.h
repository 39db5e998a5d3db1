// SPDX-License-Identifier: Apache-2.0
//
// What ranks wrote to stdout and stderr, kept at the coordinator:
// <root>/<job>/<attempt>/rank-<n>.log, the bytes as they came. A log stops
// growing at a size limit. Appending is safe to repeat: the offset says where
// the bytes belong, and those that are there are skipped. Safe from any
// thread; lives as long as the coordinator.
//
//   store.Append(key, 0, "abc")   -> next_offset 3
//   store.Append(key, 0, "abcd")  -> next_offset 4   (only "d" is new)
//   store.Append(key, 9, "x")     -> next_offset 4   (a gap: nothing written)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/events/beneath.h"
#include "server/events/wake_list.h"
#include "server/job/ids.h"

namespace epochd::events {

struct LogKey {
  job::AttemptId attempt;
  int32_t rank = 0;
};

class LogStore {
 public:
  struct Options {
    std::string root;
    // Of one rank in one attempt.
    std::int64_t max_log_bytes = std::int64_t{64} << 20;
  };

  struct Appended {
    // Where the next bytes belong; below the given offset after a gap.
    std::int64_t next_offset = 0;
    // The limit is reached: nothing more of this log is taken.
    bool full = false;
  };

  struct Chunk {
    std::string data;
    // Size of the log when it was read.
    std::int64_t size = 0;
    // The log was cut at the limit.
    bool full = false;
  };

  static absl::StatusOr<std::unique_ptr<LogStore>> Open(Options options);
  LogStore(const LogStore&) = delete;
  LogStore& operator=(const LogStore&) = delete;

  // InvalidArgument for a key or offset that cannot be; ResourceExhausted when
  // the disk is full, in which case a part may have been written: repeat.
  absl::StatusOr<Appended> Append(const LogKey& key, std::int64_t offset,
                                  std::string_view data);

  // Up to `max_bytes` from `offset` on; a log that is not there is empty.
  absl::StatusOr<Chunk> Read(const LogKey& key, std::int64_t offset,
                             std::int64_t max_bytes) const;

  // Attempts of `job` that have a log of `rank`, in order.
  absl::StatusOr<std::vector<job::AttemptNumber>> Attempts(job::JobId job,
                                                           int32_t rank) const;

  // Jobs that have a log.
  absl::StatusOr<std::vector<job::JobId>> Jobs() const;

  // Removes all logs of a job and wakes its followers. OK when there are none.
  absl::Status Delete(job::JobId job);

  // Calls `wake` after a log of `job` grew. See WakeList::Subscribe.
  [[nodiscard]] Subscription Subscribe(job::JobId job,
                                       std::function<void()> wake) {
    return wake_list_.Subscribe(job, std::move(wake));
  }

 private:
  LogStore(Options options, File root)
      : options_(std::move(options)), root_(std::move(root)) {}

  absl::StatusOr<File> OpenLog(const LogKey& key, int flags,
                               Missing missing) const;

  const Options options_;
  const File root_;
  WakeList wake_list_;
  // Orders appends to one log; a log's is picked by the hash of its key.
  absl::Mutex append_mutexes_[16];
};

}  // namespace epochd::events
