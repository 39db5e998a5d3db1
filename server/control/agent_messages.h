// SPDX-License-Identifier: Apache-2.0
//
// What agents and the coordinator tell one another: agent.proto as plain
// values, with its meaning.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/fleet/worker.h"
#include "server/job/event.h"
#include "server/job/ids.h"
#include "server/job/spec.h"
#include "server/job/state.h"

namespace epochd::control {

struct ObservedRank {
  int32_t rank = 0;
  bool running = false;
  std::optional<int32_t> exit_code;
  std::optional<int32_t> term_signal;
};

// One attempt on one worker. Reported from the moment that the agent took it
// on until it is no longer desired; states never go back.
struct ObservedAttempt {
  job::AttemptId attempt;
  job::AttemptState state = job::AttemptState::kUnspecified;
  std::vector<ObservedRank> ranks;
  // host:port, by rank 0's agent once its socket is bound.
  std::string rendezvous;
  // Set once the agent knows why it ends; always with kEnded.
  job::AttemptReason reason = job::AttemptReason::kUnspecified;
  std::string message;
  // All lines and log bytes of it were acknowledged.
  bool drained = false;
  // Files are there, the rendezvous is bound: waits for `start`.
  bool ready = false;
  // Of lines and logs; told while it has ended and is not drained.
  int64_t acknowledged_bytes = 0;
  // What went wrong without being the reason of an end.
  std::vector<std::string> problems;
  // The ranks that failed here only lost their peers.
  bool lost_peers = false;
};

struct Registration {
  // register_time and draining are the coordinator's and ignored here.
  fleet::WorkerRecord worker;
  std::vector<ObservedAttempt> observed;
  // Counts Register and Heartbeat calls of the incarnation from 1; 0: unknown,
  // taken as the newest.
  int64_t sequence = 0;
  // The agent is about to end and takes nothing new on.
  bool stopping = false;
  // Why nothing can be started there now; empty: nothing stands in the way.
  std::string not_ready = {};
};

struct Heartbeat {
  job::WorkerId worker;
  job::Incarnation incarnation;
  std::vector<ObservedAttempt> observed;
  int64_t sequence = 0;
  bool stopping = false;
  std::string not_ready = {};
};

struct DesiredAttempt {
  job::AttemptId attempt;
  // false: end it and report kEnded.
  bool run = true;
  absl::Duration stop_grace = absl::ZeroDuration();
  job::AttemptReason stop_reason = job::AttemptReason::kUnspecified;
  std::shared_ptr<const job::JobSpec> spec;
  int32_t world_size = 0;
  // Ranks on this worker.
  std::vector<job::RankPlacement> ranks;
  // Workers of all ranks, in rank order.
  std::vector<job::WorkerId> rank_workers;
  // Empty until rank 0's agent reported it.
  std::string rendezvous;
  // Recorded checkpoints, newest first.
  std::vector<job::Checkpoint> resume;
  // Every agent of it is ready: ranks may start.
  bool start = false;
  absl::Duration self_fence_after = absl::ZeroDuration();
};

// All that a worker should be running.
struct DesiredState {
  // Grows with each change, also across restarts of the coordinator.
  int64_t version = 0;
  std::vector<DesiredAttempt> attempts;
};

struct RegisterResult {
  absl::Duration heartbeat_interval = absl::ZeroDuration();
  std::shared_ptr<const DesiredState> desired;
  std::string cluster_id;
};

// Whole lines of one rank's events.jsonl, each ended by '\n'.
struct EventLines {
  job::WorkerId worker;
  job::Incarnation incarnation;
  job::AttemptId attempt;
  int32_t rank = 0;
  int64_t offset = 0;
  std::string lines;
};

}  // namespace epochd::control
