// SPDX-License-Identifier: Apache-2.0
//
// attempt.json: all that a rank needs to know, written by the agent before the
// first rank starts and never changed. A rank is started with its number in
// the command line or, forked from a warm parent, in the fork request.
//
// Standard library and nlohmann-json only: agent, trainer and tests use it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace epochd::link {

struct RankSpec {
  int rank = 0;
  int local_rank = 0;
  // "cpu:3", or GPU UUIDs; one but for CPU ranks, which list their slots.
  std::vector<std::string> devices;
};

// Exactly one is set; none: only at the end.
struct EverySpec {
  std::optional<int64_t> epochs;
  std::optional<int64_t> steps;
  std::optional<double> seconds;
};

struct CheckpointSpec {
  EverySpec every;
  int keep_last = 3;
  int keep_best = 1;
};

struct AttemptSpec {
  std::string job;       // id, without "jobs/"
  std::string job_name;  // what people call it
  int attempt = 1;
  int world_size = 1;
  int local_world_size = 1;
  std::vector<RankSpec> ranks;  // those of this node
  std::string device = "cpu";   // cpu | gpu
  // Threads of a rank.
  int cpus = 1;
  int64_t memory_bytes = 0;  // per rank, 0: no limit
  // host:port of the TCPStore; empty for one rank.
  std::string rendezvous;
  // Where checkpoints, metrics and outputs go: <storage>/<job>/. The attempt
  // writes only below <storage>/<job>/attempt-<n>/, and removes those
  // checkpoints of earlier attempts that `checkpoints` does not keep.
  std::string storage;
  // Checkpoint folders to resume from, best choice first; the first that
  // verifies is used, the others are said to be broken.
  std::vector<std::string> resume;
  CheckpointSpec checkpoints;
  // A rank ends itself this long after the last renewal (seconds, monotonic);
  // 0: never (no agent).
  double self_fence_after = 0;
  // Until the first renewal the lease ends here, which counts from the last
  // word of the coordinator (CLOCK_MONOTONIC, nanoseconds); 0: as much later
  // than the rank's start.
  int64_t lease_end_ns = 0;
  // Without a sign of life for so long (seconds) the agent ends the attempt as
  // one that hangs; 0: never.
  double hang_after = 0;
  double stop_grace = 30;
  // Binds each rank to the cores that its slots name.
  bool pin_cpus = false;
  // The experiment section as JSON text; empty for a command job.
  std::string experiment_json;
  std::vector<std::string> command;
  std::map<std::string, std::string> env;
};

// One line of JSON. FromJson throws std::invalid_argument naming the key that
// is wrong; unknown keys are ignored, missing ones keep their default.
std::string ToJson(const AttemptSpec& spec);
AttemptSpec FromJson(const std::string& text);

}  // namespace epochd::link
