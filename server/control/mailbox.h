// SPDX-License-Identifier: Apache-2.0
//
// Commands on their way to the controller's thread. Any thread posts, one
// takes. Bounded in number and bytes; under overload those are refused first
// who can best come again, and a flood of submits costs no worker its lease.
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
  // How much of the mailbox may be filled for this command to be taken: half
  // for people's, three quarters for what ranks report, all of it for what
  // keeps a worker's lease.
  enum class Sender : uint8_t { kPerson, kRank, kLease };

  struct Limits {
    int64_t num_commands = 0;
    int64_t num_bytes = 0;
  };

  explicit Mailbox(Limits limits) : limits_(limits) {}

  void Open();
  // Refuses what comes; what is inside is still taken.
  void Close();

  // `command` is taken only on kYes. `num_bytes`: what it holds, about.
  Posted Post(Command& command, Sender sender, int64_t num_bytes);
  // Waits until there is a command, it is closed or `timeout` is over; returns
  // all there are, in order, and whether it is closed.
  std::pair<std::vector<Command>, bool> Take(absl::Duration timeout);
  int64_t length() const;

 private:
  const Limits limits_;
  mutable absl::Mutex mutex_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Command> commands_ ABSL_GUARDED_BY(mutex_);
  int64_t num_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace epochd::control
