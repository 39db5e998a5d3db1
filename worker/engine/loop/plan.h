// SPDX-License-Identifier: Apache-2.0
//
// LoopPlan: how long a run is and when it validates. Epochs, batches and steps
// here are numbers done, so "after the 3rd epoch" is 3. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace epochd::engine {

struct ValidationPlan {
  enum class Unit { kEpochs, kBatches };
  Unit unit = Unit::kEpochs;
  // Not before this many are done.
  int64_t begin = 1;
  // Whenever the number done is a multiple of it. (It counts from 0, not from
  // `begin`.)
  int64_t interval = 1;
  // (milestone, interval), ascending: from that many done on, the interval is
  // this one.
  std::vector<std::pair<int64_t, int64_t>> dynamic_intervals{};
  // Within each epoch, after each such part of its batches, in place of
  // `interval`; such as 0.25.
  std::optional<double> fraction{};
  // Also at the end of the run, whatever the interval.
  bool at_end = true;

  int64_t IntervalAt(int64_t done) const;
  bool IsDue(int64_t done) const;
  // With a fraction: whether it is due after `batches` of the `num_batches` of
  // the epoch with which `epochs` are done.
  bool IsDueWithin(int64_t batches, int64_t num_batches, int64_t epochs) const;
};

struct LoopPlan {
  // Where the run ends, counted from its start (not from where it goes on);
  // the first that is reached.
  std::optional<int64_t> max_epochs{};
  std::optional<int64_t> max_batches{};
  std::optional<int64_t> max_steps{};
  std::optional<double> max_seconds{};
  // A stop condition is not heard before that many.
  int64_t min_epochs = 0;
  // Groups of gradient accumulation go on over ends of epochs.
  bool groups_cross_epochs = false;
  // Batches of validation before the training, whose scores nobody sees.
  int64_t sanity_batches = 0;
  ValidationPlan validation{};

  // Whether anything but a stop condition ends the run.
  bool has_end() const {
    return max_epochs || max_batches || max_steps || max_seconds;
  }
  // Batches of the whole run with `per_epoch` of them; below 0: not known.
  int64_t TotalBatches(int64_t per_epoch) const;
};

}  // namespace epochd::engine
