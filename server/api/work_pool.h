// SPDX-License-Identifier: Apache-2.0
//
// Threads for what may touch a disk or take a while, so that gRPC's own never
// block. Tasks run in the order they came, several at a time.
#pragma once

#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

namespace epochd::api {

class WorkPool {
 public:
  explicit WorkPool(int num_threads);
  // Runs what was posted, tasks posted by tasks included, then joins.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // Any thread. Not after the destructor began, but from tasks.
  void Post(absl::AnyInvocable<void()> task);

 private:
  void Run();
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !tasks_.empty();
  }

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<absl::AnyInvocable<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace epochd::api
