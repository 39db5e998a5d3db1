// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints on disk. A checkpoint is a folder:
//
//   model.safetensors   weights and buffers, by their Python names
//   state.safetensors   optimizers, and the generators of all ranks
//   state.json          all else: position, schedulers, hooks, best, meters
//   manifest.json       {"version": 1, "about": {epoch, batch, step, scores,
//                       best}, "files": {name: {bytes, sha256}}}
//
// It is written beside its place under another name, synced, and renamed: a
// folder with a checkpoint's name is whole, or was damaged later, which the
// manifest shows. Beside the folders stand links to them, `last` and `best`,
// which are relative and so survive a move. Plain functions; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "worker/engine/core/model.h"
#include "worker/engine/core/pending_reads.h"

namespace epochd::engine {

// All that a training needs to go on bit for bit.
struct Snapshot {
  std::vector<NamedTensor> model;
  std::vector<NamedTensor> state;
  nlohmann::ordered_json json;
  // Where it was read from; empty: it was not.
  std::string path{};
  // Tensors of `state` that stay as they are until their owner lets those
  // finish that read them, so that they need not be copied at once.
  struct Late {
    std::shared_ptr<PendingReads> reads;
    std::vector<at::Tensor> tensors{};
  };
  std::vector<Late> late{};
};

struct SavedCheckpoint {
  std::string path{};
  int64_t bytes = 0;
  std::string manifest_sha256 = {};
};

// Writes `folder`, whose parent is created when missing. Throws
// Error(kInfrastructure); nothing of the folder is then visible.
SavedCheckpoint WriteCheckpoint(const std::string& folder,
                                const Snapshot& snapshot);

// Verifies and reads. Throws Error(kInfrastructure) naming the file that is
// missing or damaged.
Snapshot ReadCheckpoint(const std::string& folder);

// What a checkpoint is, without its tensors.
struct CheckpointInfo {
  std::string path;
  int64_t epoch = 0;  // as in Position
  int64_t batch = 0;
  int64_t step = 0;
  // After a validation: its scores, by name.
  nlohmann::ordered_json scores = nlohmann::ordered_json::object();
  // {metric, value, epoch}: the best until then.
  nlohmann::ordered_json best = nlohmann::ordered_json::object();
};

// Reads no tensors and verifies nothing; nothing: there is no checkpoint, or
// none that can be read.
std::optional<CheckpointInfo> ReadCheckpointInfo(const std::string& folder);

// The checkpoints in a folder, the one that came furthest last; links are left
// out.
std::vector<CheckpointInfo> ListCheckpoints(const std::string& parent);

// Makes `<parent>/<link>` point at the checkpoint `<parent>/<name>`, at once
// and durably. Throws Error(kInfrastructure).
void PointAt(const std::string& parent, const std::string& link,
             const std::string& name);

// Removes what unfinished writes left in `parent`.
void RemoveUnfinished(const std::string& parent);

}  // namespace epochd::engine
