// SPDX-License-Identifier: Apache-2.0
//
// One thread that does tasks in order. Destruction finishes the task at hand
// and drops the others.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace epochd::agent {

class Background {
 public:
  explicit Background(const std::string& name);
  ~Background();
  void Post(std::function<void()> task);

 private:
  void Run();

  absl::Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace epochd::agent
