// SPDX-License-Identifier: Apache-2.0
#include "server/events/wake_list.h"

#include <utility>
#include <vector>

namespace epochd::events {

Subscription::~Subscription() { End(); }

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    End();
    target_ = std::move(other.target_);
  }
  return *this;
}

void Subscription::End() {
  if (target_ == nullptr) return;
  {
    // Waits for a call that is running.
    absl::MutexLock lock(&target_->mutex);
    target_->wake = nullptr;
  }
  target_.reset();
}

Subscription WakeList::Subscribe(job::JobId job, std::function<void()> wake) {
  auto target = std::make_shared<Target>();
  {
    absl::MutexLock lock(&target->mutex);
    target->wake = std::move(wake);
  }
  absl::MutexLock lock(&mutex_);
  targets_.emplace(job, target);
  return Subscription(std::move(target));
}

void WakeList::Wake(job::JobId job) {
  std::vector<std::shared_ptr<Target>> awake;
  {
    absl::MutexLock lock(&mutex_);
    auto [next, end] = targets_.equal_range(job);
    while (next != end) {
      if (auto target = next->second.lock()) {
        awake.push_back(std::move(target));
        ++next;
      } else {
        next = targets_.erase(next);
      }
    }
  }
  for (const auto& target : awake) {
    // Held during the call so that ending a subscription waits for it.
    absl::MutexLock lock(&target->mutex);
    if (target->wake) target->wake();
  }
}

void WakeList::WakeAndForget(job::JobId job) {
  Wake(job);
  absl::MutexLock lock(&mutex_);
  targets_.erase(job);
}

int WakeList::NumSubscribers() const {
  absl::MutexLock lock(&mutex_);
  std::erase_if(targets_,
                [](const auto& entry) { return entry.second.expired(); });
  return static_cast<int>(targets_.size());
}

}  // namespace epochd::events
