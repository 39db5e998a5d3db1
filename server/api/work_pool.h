// SPDX-License-Identifier: Apache-2.0
//
// Threads for what may touch a disk or take a while, so that gRPC's own never
// block. Tasks run in the order they came, several at a time. Only so many
// calls may wait: more would be answered when nobody waits for them any more.
#pragma once

#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace epochd::api {

class WorkPool {
 public:
  // `max_waiting`: tasks that TryPost lets wait.
  explicit WorkPool(int num_threads, int max_waiting = 4096);
  // Runs what was posted, tasks posted by tasks included, then joins.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // Any thread. Not after the destructor began, but from tasks. For what is
  // bounded elsewhere: a stream or an upload has one task at a time.
  void Post(absl::AnyInvocable<void()> task);
  // ResourceExhausted when too many wait; `task` was dropped then.
  absl::Status TryPost(absl::AnyInvocable<void()> task);

 private:
  void Run();
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !tasks_.empty();
  }

  const size_t max_waiting_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<absl::AnyInvocable<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace epochd::api
