// SPDX-License-Identifier: Apache-2.0
//
// Commands on their way to the controller's thread. Any thread posts, one
// takes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace epochd::control {

class Core;

class Mailbox {
 public:
  using Command = absl::AnyInvocable<void(Core&)>;
  enum class Posted : uint8_t { kYes, kFull, kClosed };

  explicit Mailbox(int64_t capacity) : capacity_(capacity) {}

  void Open();
  // Refuses what comes; what is inside is still taken.
  void Close();

  // `command` is taken only on kYes.
  Posted Post(Command& command);
  // Waits until there is a command, it is closed or `timeout` is over; returns
  // all there are, in order, and whether it is closed.
  std::pair<std::vector<Command>, bool> Take(absl::Duration timeout);
  int64_t length() const;

 private:
  const int64_t capacity_;
  mutable absl::Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Command> commands_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace epochd::control
