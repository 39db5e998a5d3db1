// SPDX-License-Identifier: Apache-2.0
//
// Regrouping: going on with another number of ranks, another batch size or
// another data set than a checkpoint was saved with. The order of an epoch's
// samples does not depend on either, and rank r of W takes places r, r + W, ...
// of it: after b batches of B samples on W ranks the first b * B * W samples
// were seen. Where that is a whole number of the new steps the run goes on at
// the very sample, else it begins the epoch again. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

struct Grouping {
  int64_t world_size = 1;
  int64_t batch_size = 1;  // per rank
  int64_t samples = 0;     // of the data set
  bool operator==(const Grouping&) const = default;
};

// That of a checkpoint, by its state.json.
Grouping SavedGrouping(const nlohmann::ordered_json& state);

// The batch of the new grouping that begins where `batch` of the old one does;
// nothing: none does, it would be past `num_batches` (below 0: not known, or
// without end), or the data set changed.
std::optional<int64_t> ConvertBatch(int64_t batch, const Grouping& before,
                                    const Grouping& now, int64_t num_batches);

// The same of a checkpoint. One that was saved behind an epoch's last batch
// goes on behind the last batch.
std::optional<int64_t> ResumedBatch(const nlohmann::ordered_json& state,
                                    const Grouping& now, int64_t num_batches);

// What a rank's meter must start from, so that sums over ranks are those of all
// old ranks: everything on rank 0, zero elsewhere. `meters`: Meter::State() of
// each old rank.
nlohmann::ordered_json MergeMeters(const nlohmann::ordered_json& meters,
                                   int rank);

// What a rank counts on from, of what all old ranks left out of the running
// epoch: an even share each. `ranks`: the own state of each, by trainer_state.
Skipped ShareSkipped(const nlohmann::ordered_json& ranks, int rank,
                     int64_t world_size);

}  // namespace epochd::engine
