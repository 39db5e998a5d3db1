// SPDX-License-Identifier: Apache-2.0
#include "server/api/work_pool.h"

#include <utility>

namespace epochd::api {

WorkPool::WorkPool(int num_threads, int max_waiting)
    : max_waiting_(static_cast<size_t>(max_waiting)) {
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

WorkPool::~WorkPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkPool::Post(absl::AnyInvocable<void()> task) {
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
}

absl::Status WorkPool::TryPost(absl::AnyInvocable<void()> task) {
  absl::MutexLock lock(&mutex_);
  if (tasks_.size() >= max_waiting_) {
    return absl::ResourceExhaustedError(
        "the coordinator has more calls to answer than it can, try again");
  }
  tasks_.push_back(std::move(task));
  return absl::OkStatus();
}

void WorkPool::Run() {
  while (true) {
    absl::AnyInvocable<void()> task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &WorkPool::HasWork));
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace epochd::api
