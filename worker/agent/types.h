// SPDX-License-Identifier: Apache-2.0
//
// What agent and coordinator tell one another, as plain values: agent.proto
// without protobuf.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "worker/link/attempt_spec.h"

namespace epochd::agent {

enum class AttemptState { kStarting, kRunning, kStopping, kEnded };

enum class AttemptReason {
  kUnspecified,
  kCompleted,
  kCancelled,
  kStoppedWithCheckpoint,
  kBadSpec,
  kTrainingFailed,
  kRankLost,
  kWorkerLost,
  kHang,
  kOomHost,
  kStartFailed,
  kTimeLimit,
};

// A file carried by the job, placed at `path` in the work folder.
struct CarriedFile {
  std::string path;
  std::string sha256;
  int64_t size_bytes = 0;
  bool executable = false;
};

struct DesiredAttempt {
  std::string name;  // jobs/{job}/attempts/{n}
  // false: end it and report kEnded.
  bool run = true;
  AttemptReason stop_reason = AttemptReason::kUnspecified;
  // Every agent of it is ready: ranks may start.
  bool start = true;
  // All of attempt.json but what the agent adds: storage where the job names
  // none, rendezvous of its own socket, pin_cpus, lease_end_ns.
  link::AttemptSpec spec;
  std::vector<CarriedFile> files;
};

struct DesiredState {
  int64_t version = 0;
  std::vector<DesiredAttempt> attempts;
};

struct ObservedRank {
  int rank = 0;
  bool running = false;
  std::optional<int> exit_code{};
  std::optional<int> term_signal{};

  bool operator==(const ObservedRank&) const = default;
};

// Reported from the moment that the agent took it on until it is no longer
// desired; states never go back.
struct ObservedAttempt {
  std::string name{};
  AttemptState state = AttemptState::kStarting;
  std::vector<ObservedRank> ranks{};
  // Set by rank 0's agent once its socket is bound.
  std::string rendezvous{};
  // Set as soon as it is known why it ends.
  AttemptReason reason = AttemptReason::kUnspecified;
  std::string message{};
  // All lines and log bytes were acknowledged.
  bool drained = false;
  // Files are there, the rendezvous is bound: waits for `start`.
  bool ready = false;
  // Of lines and logs; told while it has ended and is not drained.
  int64_t acknowledged_bytes = 0;
  // What went wrong without being the reason of an end.
  std::vector<std::string> problems{};
  // The ranks that failed here only lost their peers: another worker's word for
  // the end explains it better.
  bool lost_peers = false;

  bool operator==(const ObservedAttempt&) const = default;
};

// All that an agent tells of itself, again and again.
struct AgentReport {
  std::vector<ObservedAttempt> attempts{};
  // It is about to end and takes nothing new on.
  bool stopping = false;
  // Why nothing can be started here now; empty: nothing stands in the way.
  std::string not_ready{};

  bool operator==(const AgentReport&) const = default;
};

enum class DeviceKind { kCpu, kGpu };

struct Device {
  std::string id;  // "cpu:3", or a GPU's UUID
  DeviceKind kind = DeviceKind::kCpu;
  std::string model;
  int64_t memory_bytes = 0;
};

// What an agent is, told once at each registration.
struct WorkerInfo {
  std::string name;
  std::string incarnation;
  std::string boot_id;
  // Of the work folder (work_folder.h).
  std::string folder_id;
  std::string hostname;
  std::string version;
  std::vector<Device> devices;
  std::map<std::string, std::string> labels;
  int64_t memory_bytes = 0;
  std::string catalogue_sha256;
  std::string catalogue_json;
};

struct Registered {
  absl::Duration heartbeat_interval = absl::Seconds(2);
  DesiredState desired;
  std::string cluster_id;
};

struct LogAnswer {
  int64_t next_offset = 0;
  // The log's size limit is reached: send no more of this one.
  bool full = false;
};

}  // namespace epochd::agent
