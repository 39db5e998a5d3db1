// SPDX-License-Identifier: Apache-2.0
//
// What happened to a job. The journal of a job is its events, dense from 1; the
// job's state is their fold (server/job/job.h). Bodies mirror those of
// proto/epochd/v1/job.proto. Two have no message of their own on the wire:
// JobSubmitted is JobStateChanged to QUEUED there, and CheckpointRemoved is
// CheckpointSaved with `removed` set.
// Doubles may be NaN and infinite.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "server/job/ids.h"
#include "server/job/spec.h"
#include "server/job/state.h"

namespace epochd::job {

struct RankPlacement {
  int32_t rank = 0;
  WorkerId worker;
  std::vector<std::string> devices;
  // Work folder that the worker had when the rank was placed there
  // (fleet::WorkerRecord::work_dir).
  std::string work_dir = {};
  // Set once the rank ended.
  std::optional<int32_t> exit_code;
  std::optional<int32_t> term_signal;

  friend bool operator==(const RankPlacement&, const RankPlacement&) = default;
};

struct BestMetric {
  std::string name;
  double value = 0;
  int64_t epoch = 0;

  friend bool operator==(const BestMetric&, const BestMetric&) = default;
};

struct Checkpoint {
  std::string path;
  AttemptNumber attempt;
  int64_t epoch = 0;
  int64_t step = 0;
  int64_t batch = 0;
  bool best = false;
  int64_t size_bytes = 0;
  std::string manifest_sha256;
  std::map<std::string, double> metrics;
  absl::Time create_time = absl::InfinitePast();
  int32_t world_size = 0;
  bool removed = false;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// First event of every job, and only there.
struct JobSubmitted {
  std::shared_ptr<const JobSpec> spec;
  // Grows with each submit at this coordinator; the queue's order within a
  // priority, and the order of lists.
  int64_t submit_number = 0;
};

struct JobStateChanged {
  JobState state = JobState::kUnspecified;
  JobReason reason = JobReason::kUnspecified;
  std::string message;
};

// kAssigned makes the attempt and carries the whole placement; kEnded carries
// it again with exit codes. Other states may leave `ranks` empty.
struct AttemptStateChanged {
  AttemptState state = AttemptState::kUnspecified;
  // Set from kStopping on: why it ends.
  AttemptReason reason = AttemptReason::kUnspecified;
  std::string message;
  std::vector<RankPlacement> ranks;
  // With kEnded: time since every rank ran, by the steady clock.
  absl::Duration run_time = absl::ZeroDuration();
  // With kEnded: it counts against restart.max.
  bool counts_as_restart = false;
};

struct TrainingBegan {
  int64_t total_epochs = 0;
  int64_t initial_epoch = 0;
  int64_t initial_batch = 0;
  int64_t train_batches = 0;
  int64_t val_batches = 0;
  int64_t train_samples = 0;
  int64_t val_samples = 0;
  int64_t parameters = 0;
  std::string resumed_from;
};

struct FirstStep {
  int64_t step = 0;
};

struct EpochStarted {
  int64_t epoch = 0;
};

struct EpochFinished {
  int64_t epoch = 0;
  std::map<std::string, double> metrics;
  std::map<std::string, double> learning_rates;
  absl::Duration elapsed = absl::ZeroDuration();
  double samples_per_second = 0;
  int64_t step = 0;
  // Of `elapsed`, what the training of rank 0 waited for its batches.
  absl::Duration data_wait = absl::ZeroDuration();
};

struct MetricsLogged {
  int64_t epoch = 0;
  int64_t step = 0;
  std::map<std::string, double> metrics;
};

struct CheckpointSaved {
  Checkpoint checkpoint;
};

// The trainer removed it (retention). Carries the whole record as it was, with
// `removed` set.
struct CheckpointRemoved {
  Checkpoint checkpoint;
};

struct TrainingEnded {
  enum class Outcome : int8_t {
    kUnspecified = 0,
    kCompleted = 1,
    kStopped = 2,
    kFailed = 3,
  };
  Outcome outcome = Outcome::kUnspecified;
  std::string message;
  int64_t epochs = 0;
  std::optional<BestMetric> best;
  std::map<std::string, std::string> outputs;
};

struct Notice {
  enum class Severity : int8_t {
    kUnspecified = 0,
    kInfo = 1,
    kWarning = 2,
    kError = 3,
  };
  Severity severity = Severity::kInfo;
  std::string text;
  int32_t rank = 0;
};

// The order is storage format: append only.
using EventBody =
    std::variant<JobSubmitted, JobStateChanged, AttemptStateChanged,
                 TrainingBegan, FirstStep, EpochStarted, EpochFinished,
                 MetricsLogged, CheckpointSaved, CheckpointRemoved,
                 TrainingEnded, Notice>;

struct Event {
  // Dense from 1 within a job.
  int64_t sequence = 0;
  // Wall clock, for people; never decides anything.
  absl::Time time = absl::InfinitePast();
  // 0: of the job itself.
  AttemptNumber attempt;
  EventBody body;
};

// Where training is right now. Not journalled: newest wins.
struct Progress {
  int64_t epoch = 0;
  int64_t total_epochs = 0;
  std::string phase;
  int64_t batch = 0;
  int64_t batches = 0;
  int64_t step = 0;
  double loss = 0;
  double samples_per_second = 0;
};

}  // namespace epochd::job
