// SPDX-License-Identifier: Apache-2.0
//
// A worker as it registered, and as its lease says it is. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "server/job/ids.h"
#include "server/job/spec.h"

namespace epochd::fleet {

// Numbers are those of proto/epochd/v1/worker.proto.
enum class WorkerState : int8_t {
  kUnspecified = 0,
  kReady = 1,
  kDraining = 2,
  kUnreachable = 3,
  kLost = 4,
  kNotReady = 5,
  // Attempts of different jobs keep failing there: fleet/quarantine.h.
  kQuarantined = 6,
};

std::string_view Name(WorkerState state);
// Every value but kUnspecified.
const std::vector<WorkerState>& AllWorkerStates();

struct Device {
  std::string id;
  job::DeviceKind kind = job::DeviceKind::kCpu;
  std::string model;
  int64_t memory_bytes = 0;

  friend bool operator==(const Device&, const Device&) = default;
};

// What is kept durably of a worker.
struct WorkerRecord {
  job::WorkerId id;
  job::Incarnation incarnation;
  std::string boot_id;
  // Random id of the agent's work folder; empty: of an agent that tells none.
  std::string work_dir = {};
  std::string hostname;
  std::string version;
  std::vector<Device> devices;
  std::map<std::string, std::string> labels;
  int64_t memory_bytes = 0;
  std::string catalogue_sha256;
  // Names in that catalogue, as JobSpec::required_components names them.
  std::set<std::string> components;
  absl::Time register_time = absl::InfinitePast();
  bool draining = false;

  friend bool operator==(const WorkerRecord&, const WorkerRecord&) = default;
};

// A worker as people see it.
struct WorkerView {
  WorkerRecord record;
  WorkerState state = WorkerState::kUnspecified;
  std::string message;
  absl::Time last_seen_time = absl::InfinitePast();
  // Device id to the attempt that holds it; a free device is absent.
  std::map<std::string, job::AttemptId> held;
};

}  // namespace epochd::fleet
