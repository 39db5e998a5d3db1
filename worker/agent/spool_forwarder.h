// SPDX-License-Identifier: Apache-2.0
//
// Forwards what ranks write to the coordinator: one thread for events, one for
// logs, so that a flood of output delays no metric. Woken by the file system,
// so a line leaves within milliseconds; what cannot be sent stays in the file
// and is sent later from the acknowledged offset on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "net/retry_policy.h"
#include "worker/agent/spool.h"
#include "worker/agent/transport.h"

namespace epochd::agent {

class SpoolForwarder final : public Spool {
 public:
  // Called from the forwarder's threads, without a lock.
  struct Callbacks {
    // Something became drained.
    std::function<void()> drained;
    // The coordinator takes nothing of this attempt any more.
    std::function<void(const std::string& attempt)> refused;
    // Something of a rank will never reach the coordinator; `problem` says
    // what. `lines`: those, so that nothing more is heard of the training; else
    // only its log.
    std::function<void(const std::string& attempt, const std::string& problem,
                       bool lines)>
        broken;
    // The coordinator does not know us, or knows a newer agent of our name.
    std::function<void(const absl::Status&)> stale;
  };

  // `transport` and `worker` outlive it. Threads run until destruction.
  SpoolForwarder(Transport& transport, const WorkerInfo& worker,
                 Callbacks callbacks);
  // Shut the transport down first, else a call in progress is waited for.
  ~SpoolForwarder() override;

  void Add(const std::string& attempt, int rank,
           const std::string& rank_dir) override;
  void SetEnded(const std::string& attempt, int rank) override;
  bool IsDrained(const std::string& attempt) override;
  int64_t Acknowledged(const std::string& attempt) override;
  void Remove(const std::string& attempt) override;
  // Tries again now what waits for the coordinator to come back.
  void Retry();

 private:
  enum class Kind { kEvents, kLog };
  struct Rank;
  struct Lane;

  void Run(Lane& lane);
  // Returns whether there may be more.
  bool Forward(Lane& lane, Rank& rank);
  bool ForwardEvents(Lane& lane, Rank& rank, bool ended);
  bool ForwardLog(Lane& lane, Rank& rank, bool ended);
  bool HandleFailure(Lane& lane, Rank& rank, const absl::Status& status);
  void Acknowledge(Rank& rank, Kind kind, int64_t offset);
  void SetDrained(Rank& rank, Kind kind);
  // Tells of it once for each kind.
  void Break(Rank& rank, Kind kind, const std::string& problem);
  void Wait(Lane& lane, bool any_active);
  static void Wake(Lane& lane);

  Transport& transport_;
  const WorkerInfo& worker_;
  const Callbacks callbacks_;
  const net::RetryPolicy retry_;

  absl::Mutex mutex_;
  std::vector<std::shared_ptr<Rank>> ranks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace epochd::agent
