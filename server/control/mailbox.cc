// SPDX-License-Identifier: Apache-2.0
#include "server/control/mailbox.h"

namespace epochd::control {
namespace {

// The share of a sender in quarters.
int64_t Quarters(Mailbox::Sender sender) {
  switch (sender) {
    case Mailbox::Sender::kPerson:
      return 2;
    case Mailbox::Sender::kRank:
      return 3;
    case Mailbox::Sender::kLease:
      return 4;
  }
  return 0;
}

}  // namespace

void Mailbox::Open() {
  absl::MutexLock lock(&mutex_);
  open_ = true;
}

void Mailbox::Close() {
  absl::MutexLock lock(&mutex_);
  open_ = false;
}

Mailbox::Posted Mailbox::Post(Command& command, Sender sender,
                              int64_t num_bytes) {
  const int64_t quarters = Quarters(sender);
  absl::MutexLock lock(&mutex_);
  if (!open_) return Posted::kClosed;
  if (static_cast<int64_t>(commands_.size()) >=
          limits_.num_commands * quarters / 4 ||
      num_bytes_ + num_bytes > limits_.num_bytes * quarters / 4) {
    return Posted::kFull;
  }
  commands_.push_back(std::move(command));
  num_bytes_ += num_bytes;
  return Posted::kYes;
}

std::pair<std::vector<Mailbox::Command>, bool> Mailbox::Take(
    absl::Duration timeout) {
  const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !commands_.empty() || !open_;
  };
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&ready), timeout);
  num_bytes_ = 0;
  return {std::exchange(commands_, {}), !open_};
}

int64_t Mailbox::length() const {
  absl::ReaderMutexLock lock(&mutex_);
  return static_cast<int64_t>(commands_.size());
}

}  // namespace epochd::control
