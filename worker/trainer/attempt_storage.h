// SPDX-License-Identifier: Apache-2.0
//
// What the attempts of a job leave in its storage, and what the next one goes
// on from:
//
//   <storage>/<job>/attempt-<n>/checkpoints/<name>   sealed by a manifest
//   <storage>/<job>/attempt-<n>/...                  outputs
//
// Called by rank 0's training thread, or by all ranks where it only reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/core/error.h"
#include "worker/link/attempt_spec.h"
#include "worker/trainer/line_sink.h"

namespace epochd::trainer {

// Of this attempt; in `attempt_dir` where the job has no storage.
std::string OutputFolder(const link::AttemptSpec& spec,
                         const std::string& attempt_dir);

// Nothing can be kept: no training is worth that, so none begins.
class NoStorage : public engine::Error {
 public:
  explicit NoStorage(const std::string& message)
      : Error(engine::ErrorKind::kInfrastructure, message) {}
};

// Makes a folder for outputs, or for checkpoints. Throws NoStorage. A disk that
// is full later only costs checkpoints.
void MakeOutputFolder(const std::string& folder);

// Paths of all checkpoints that earlier attempts left, oldest first.
std::vector<std::string> EarlierCheckpoints(const link::AttemptSpec& spec);

// Removes what earlier attempts were writing when they died.
void RemoveUnfinished(const link::AttemptSpec& spec);

// By `mode`, the job's `experiment.resume`: of the job's own checkpoints the
// newest that can be read, else the one that is named there; nothing: train
// from the beginning. Tells of those that are skipped. Throws Error(kBadSpec)
// where the named one cannot be read.
std::optional<engine::Snapshot> ChooseCheckpoint(const link::AttemptSpec& spec,
                                                 const std::string& mode,
                                                 LineSink& sink);

}  // namespace epochd::trainer
