// SPDX-License-Identifier: Apache-2.0
#include "server/control/mailbox.h"

namespace epochd::control {

void Mailbox::Open() {
  absl::MutexLock lock(&mutex_);
  open_ = true;
}

void Mailbox::Close() {
  absl::MutexLock lock(&mutex_);
  open_ = false;
}

Mailbox::Posted Mailbox::Post(Command& command) {
  absl::MutexLock lock(&mutex_);
  if (!open_) return Posted::kClosed;
  if (static_cast<int64_t>(commands_.size()) >= capacity_) return Posted::kFull;
  commands_.push_back(std::move(command));
  return Posted::kYes;
}

std::pair<std::vector<Mailbox::Command>, bool> Mailbox::Take(
    absl::Duration timeout) {
  const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !commands_.empty() || !open_;
  };
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&ready), timeout);
  return {std::exchange(commands_, {}), !open_};
}

int64_t Mailbox::length() const {
  absl::ReaderMutexLock lock(&mutex_);
  return static_cast<int64_t>(commands_.size());
}

}  // namespace epochd::control
