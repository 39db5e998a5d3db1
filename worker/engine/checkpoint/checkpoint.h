// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints on disk. A checkpoint is a folder:
//
//   model.safetensors   weights and buffers, by their Python names
//   state.safetensors   optimizers, and the generators of all ranks
//   state.json          all else: position, schedulers, hooks, best, meters
//   manifest.json       {"version": 1, "files": {name: {bytes, sha256}}}
//
// It is written beside its place under another name, synced, and renamed: a
// folder with a checkpoint's name is whole, or was damaged later, which the
// manifest shows. Plain functions; any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "worker/engine/core/model.h"

namespace epochd::engine {

// All that a training needs to go on bit for bit.
struct Snapshot {
  std::vector<NamedTensor> model;
  std::vector<NamedTensor> state;
  nlohmann::ordered_json json;
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

// Removes what unfinished writes left in `parent`.
void RemoveUnfinished(const std::string& parent);

}  // namespace epochd::engine
