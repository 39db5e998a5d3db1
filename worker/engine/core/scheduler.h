// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: changes a setting of an optimizer's groups (learning rate or
// momentum) as training goes on. It counts its own steps in its own unit; who
// owns it (loop/schedules.h) says when one is due. Values follow from the
// present ones wherever torch's do, so schedulers of one optimizer multiply,
// and what a hook did to a value stays. One thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "worker/engine/core/optimizer.h"

namespace epochd::engine {

// How long a run is planned to be; nothing: not known, or without end.
struct RunLength {
  std::optional<int64_t> epochs{};
  std::optional<int64_t> batches_per_epoch{};
  // Of the whole run.
  std::optional<int64_t> batches{};
  std::optional<int64_t> steps{};
};

// What a scheduler's step is: a finished epoch, a batch, or a step that its
// optimizer did (fewer than batches with accumulation, a skipped fp16 step, or
// a resting side of a GAN).
enum class ScheduleUnit { kEpoch, kBatch, kStep };

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  virtual ScheduleUnit unit() const = 0;
  // Takes from the run's length what the job file left to it. Once, before
  // Start(). Throws Error(kBadSpec): it needs a length that is not known, or
  // is shorter than the run.
  virtual void Fit(const RunLength& length) = 0;
  // Value of the first epoch, batch or step; groups hold their initial ones,
  // or what the schedulers before this one made of them.
  virtual void Start(Optimizer& optimizer) = 0;
  // A unit passed. `monitored`: the score named by monitor(), when it needs
  // one and the epoch gave it.
  virtual void Step(Optimizer& optimizer, std::optional<double> monitored) = 0;

  // Whether Fit() made the run's length, or that of its epochs, its own: its
  // steps are shares of those, where others count on by themselves.
  virtual bool follows_run() const { return false; }

  // A validation within a unit gave the score.
  virtual void Observe(Optimizer& optimizer, double monitored) {
    (void)optimizer;
    (void)monitored;
  }

  // Whether Step() needs a score to change anything.
  virtual bool needs_metric() const { return false; }
  // Whether Start(), Step() without a score as often as it stepped, LoadState()
  // and Redo() make of an optimizer that begins anew what it had made of it.
  virtual bool can_redo() const { return !needs_metric(); }
  // What its scores had it do, again.
  virtual void Redo(Optimizer& optimizer) { (void)optimizer; }
  // Name of that score; empty: the one the run is monitored by.
  virtual std::string monitor() const { return ""; }
  // Whether a score that is not measured is an error, rather than a step left
  // out with a warning.
  virtual bool is_strict() const { return true; }

  // Exact round trip (doubles are kept bit for bit). Holds no settings of the
  // job file and no value of the optimizer: a longer run ends later.
  virtual nlohmann::ordered_json State() const = 0;
  virtual void LoadState(const nlohmann::ordered_json& state) = 0;
};

}  // namespace epochd::engine
