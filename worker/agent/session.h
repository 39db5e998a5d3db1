// SPDX-License-Identifier: Apache-2.0
//
// The agent's standing with the coordinator: registers, renews the lease by
// heartbeats, and listens for what is desired. Two threads.
//
//   unknown --Register OK--> registered --NOT_FOUND--> unknown
//      |                        |
//      +------- ABORTED --------+--> superseded: a newer agent has our name
//   anything else that fails is tried again, ever less often, up to 5 s
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "net/retry_policy.h"
#include "worker/agent/transport.h"
#include "worker/agent/types.h"

namespace epochd::agent {

class Session {
 public:
  // Called from the session's threads, without a lock.
  struct Callbacks {
    // `registered`: the first state after a registration.
    std::function<void(DesiredState desired, bool registered)> desired;
    // The coordinator heard of us; `sent` is before the call, steady clock.
    std::function<void(absl::Time sent)> renewed;
    std::function<void()> superseded;
  };

  // `transport` and `worker` outlive it.
  Session(Transport& transport, const WorkerInfo& worker, Callbacks callbacks);
  // Shut the transport down first, else calls in progress are waited for.
  ~Session();

  // Begins; `report` is what is told at first.
  void Start(AgentReport report);
  // Sends at once if it differs from what was told last.
  void Publish(AgentReport report);
  // The coordinator said that it does not know us.
  void RegisterAgain();
  // Sends what was published last if the coordinator can be reached, and waits
  // for that; then no call begins any more. Not from a callback.
  void Stop();

 private:
  enum class State { kUnknown, kRegistered, kSuperseded };

  void RunHeartbeats();
  void RunWatch();
  // Both return false when the thread should end.
  bool RegisterUntilKnown();
  bool Beat();
  void Settle(const absl::Status& status);
  // Waits out a pause after `num_failures`, the last being `failure`; false:
  // stopping.
  bool Pause(int num_failures, const absl::Status& failure);
  Transport& transport_;
  const WorkerInfo& worker_;
  const Callbacks callbacks_;
  const net::RetryPolicy retry_;

  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kUnknown;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  AgentReport report_ ABSL_GUARDED_BY(mutex_);
  // Counts publications; `told_` is the newest that reached the coordinator.
  int64_t published_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t told_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration interval_ ABSL_GUARDED_BY(mutex_) = absl::Seconds(2);

  std::thread heartbeats_;
  std::thread watch_;
};

}  // namespace epochd::agent
