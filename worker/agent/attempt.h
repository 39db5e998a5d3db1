// SPDX-License-Identifier: Apache-2.0
//
// One attempt on this node as the core keeps it; its phases are drawn in
// agent_core.h. A plain value of the core's thread.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "worker/agent/conclusion.h"
#include "worker/agent/hang_watch.h"
#include "worker/agent/types.h"
#include "worker/link/attempt_spec.h"
#include "worker/process/rank_runner.h"

namespace epochd::agent {

struct Attempt {
  enum class Phase {
    kFetching,
    kMeeting,
    kStarting,
    kRunning,
    kStopping,
    kEnded
  };

  struct Rank {
    int rank = 0;
    std::string dir{};
    process::RankStatus status{};
    bool asked = false;
    bool spooled = false;

    bool is(process::RankStatus::Phase phase) const {
      return status.phase == phase;
    }
  };

  std::string name;
  std::string dir;
  link::AttemptSpec spec;
  std::vector<Rank> ranks;
  Phase phase = Phase::kMeeting;
  // Bound by us; -1 once handed on, or when rank 0 is elsewhere.
  int rendezvous_fd = -1;
  bool wanted = true;
  // Every agent of the attempt is ready.
  bool may_start = false;
  AttemptReason stop_reason = AttemptReason::kUnspecified;
  bool refused = false;
  bool fenced = false;
  bool stop_sent = false;
  bool adopted = false;
  absl::Time start_deadline = absl::InfiniteFuture();
  absl::Time lease_end = absl::InfiniteFuture();
  HangWatch hang;
  AttemptReason reason = AttemptReason::kUnspecified;
  std::string message;
  // Of the rank that the message is about.
  bool lost_peers = false;
  // What went wrong without being the reason of an end.
  std::vector<std::string> problems;

  bool has_rank_zero() const {
    return !ranks.empty() && ranks.front().rank == 0;
  }
  bool needs_rendezvous() const { return spec.world_size > 1; }
  bool is_command() const { return !spec.command.empty(); }

  // One for each of spec.ranks, in order.
  void MakeRanks();
  void CloseRendezvous();
  // From now on a silence of spec.hang_after is noticed; by the agent of rank 0
  // alone, since the others' ranks may well have nothing to say.
  void WatchForHang();
  ConclusionInput Ends() const;
  // `drained` and `acknowledged_bytes` are what the spool says.
  ObservedAttempt Observe(bool drained, int64_t acknowledged_bytes) const;
};

}  // namespace epochd::agent
