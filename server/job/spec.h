// SPDX-License-Identifier: Apache-2.0
//
// What people submit, as the coordinator holds it: JobSpec of
// proto/epochd/v1/job.proto with every default filled in. The API has checked
// limits and names; this is a plain value, immutable once submitted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/job/state.h"

namespace epochd::job {

enum class DeviceKind : int8_t { kUnspecified = 0, kCpu = 1, kGpu = 2 };
enum class Placement : int8_t {
  kUnspecified = 0,
  kPreferred = 1,
  kRequired = 2
};

std::string_view Name(DeviceKind kind);

// min == max: fixed size. min < max: elastic.
struct Replicas {
  int32_t min = 1;
  int32_t max = 1;

  friend bool operator==(const Replicas&, const Replicas&) = default;
};

struct Resources {
  Replicas replicas;
  DeviceKind device = DeviceKind::kCpu;
  // CPU slots per rank, at least 1. A CPU rank's devices are these slots; a GPU
  // rank's device is one GPU, and it reserves no slots.
  int32_t cpus = 1;
  // Bytes per rank; 0: no limit.
  int64_t memory_bytes = 0;
  // Accepted device models, any of, compared without case; empty: any.
  std::vector<std::string> models;
  std::map<std::string, std::string> node_labels;
  // kUnspecified places ranks as kPreferred does.
  Placement same_node = Placement::kUnspecified;

  friend bool operator==(const Resources&, const Resources&) = default;
};

struct RestartPolicy {
  int32_t max = 3;
  // Attempt reasons that restart; empty: DefaultRestartReasons().
  std::vector<AttemptReason> reasons;
  absl::Duration backoff = absl::Seconds(1);
  absl::Duration worker_lost_after = absl::Minutes(2);

  friend bool operator==(const RestartPolicy&, const RestartPolicy&) = default;
};

// worker_lost, rank_lost, hang, oom_host
const std::vector<AttemptReason>& DefaultRestartReasons();

// At most one is not zero; all zero: at the end only.
struct CheckpointInterval {
  int64_t epochs = 0;
  int64_t steps = 0;
  absl::Duration duration = absl::ZeroDuration();

  friend bool operator==(const CheckpointInterval&,
                         const CheckpointInterval&) = default;
};

struct CheckpointPolicy {
  CheckpointInterval every;
  int32_t keep_last = 3;
  int32_t keep_best = 1;

  friend bool operator==(const CheckpointPolicy&,
                         const CheckpointPolicy&) = default;
};

struct FileRef {
  std::string path;
  std::string sha256;
  int64_t size_bytes = 0;
  bool executable = false;

  friend bool operator==(const FileRef&, const FileRef&) = default;
};

struct JobSpec {
  std::string display_name;
  std::string project = "default";
  int32_t priority = 50;
  std::map<std::string, std::string> labels;
  Resources resources;
  RestartPolicy restart;
  // Run time over all attempts; infinite: no limit.
  absl::Duration max_time = absl::InfiniteDuration();
  // An attempt without a sign of life for so long hangs; zero: never.
  absl::Duration hang_after = absl::ZeroDuration();
  std::string storage;
  CheckpointPolicy checkpoints;
  // Exactly one of the two is not empty.
  std::string experiment_json;
  std::vector<std::string> command;
  std::vector<FileRef> files;
  std::map<std::string, std::string> env;
  // Catalogue names that the experiment needs ("model.MLP" or whatever the
  // catalogue calls them), found when it was validated. A job goes only where
  // all are; empty: anywhere. Stored with the job, not on the wire.
  std::vector<std::string> required_components;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

}  // namespace epochd::job
