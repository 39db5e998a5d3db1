// SPDX-License-Identifier: Apache-2.0
//
// The lines of events.jsonl: what a rank tells, one JSON object a line, each
// written by a single write(2) and ended by '\n'. Written by the trainer (or a
// command job), forwarded by the agent untouched, read by the coordinator.
//
// Every line has "type" (below), "time" (seconds since 1970, fractional) and
// "rank". Numbers that are not finite are the strings "NaN", "Infinity",
// "-Infinity". Unknown types and keys are ignored by readers. Only rank 0
// tells of epochs, metrics and checkpoints.
//
//   started          pid, threads, device, warm
//   training_began   total_epochs, initial_epoch, initial_batch,
//                    train_batches, val_batches, train_samples, val_samples,
//                    parameters, resumed_from
//   first_step       step
//   epoch_started    epoch
//   progress         epoch, total_epochs, phase, batch, batches, step, loss,
//                    samples_per_second        (at most four a second)
//   metrics          epoch, step, metrics{name: number}
//   epoch_finished   epoch, step, metrics{"train/loss": ...},
//                    learning_rates{}, seconds, samples_per_second,
//                    data_wait_seconds
//   checkpoint_saved path, epoch, step, batch, best, bytes, manifest_sha256,
//                    metrics{}, world_size
//   checkpoint_removed path
//   training_ended   outcome ("completed", "stopped", "failed"), message,
//                    epochs, best{name, value, epoch}, outputs{name: path}
//   notice           severity ("info", "warning", "error"), text
//
// Epochs count from 1 in lines (people read them); `step` counts optimizer
// steps since the job began; `batch` batches done in the epoch.
#pragma once

#include <string_view>

namespace epochd::link {

inline constexpr std::string_view kStarted = "started";
inline constexpr std::string_view kTrainingBegan = "training_began";
inline constexpr std::string_view kFirstStep = "first_step";
inline constexpr std::string_view kEpochStarted = "epoch_started";
inline constexpr std::string_view kProgress = "progress";
inline constexpr std::string_view kMetrics = "metrics";
inline constexpr std::string_view kEpochFinished = "epoch_finished";
inline constexpr std::string_view kCheckpointSaved = "checkpoint_saved";
inline constexpr std::string_view kCheckpointRemoved = "checkpoint_removed";
inline constexpr std::string_view kTrainingEnded = "training_ended";
inline constexpr std::string_view kNotice = "notice";

// Longest line; a longer one is replaced by a notice by the writer.
inline constexpr int kMaxLineBytes = 256 * 1024;

}  // namespace epochd::link
