// SPDX-License-Identifier: Apache-2.0
//
// Schedules: all schedulers of a run with the optimizers they change. A
// trainer calls it at three places: after each batch, after each validation
// within an epoch, and after each epoch that ran to its end. Checkpoints are
// taken after that, so that a run that goes on has the right values. One
// thread.
//
//   Schedules schedules(std::move(entries));
//   schedules.Bind(runner.Optimizers(), length);  // once
//   schedules.Start();                            // or LoadState()
//   for each batch: ...; schedules.AfterBatch();
//   schedules.AfterEpoch({.scores = scores, .monitored = ...});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/scheduler.h"
#include "worker/engine/hook/context.h"

namespace epochd::engine {

using NamedOptimizers =
    std::vector<std::pair<std::string, std::shared_ptr<Optimizer>>>;

// What an epoch gave.
struct EpochScores {
  const Scores& scores;
  // Of the metric that the run is monitored by.
  std::optional<double> monitored{};
  // False in an epoch without the validation that others have: scores that
  // are not there may be there another time.
  bool is_complete = true;
  // False: its scores were looked at before (AfterValidation()).
  bool is_measured = true;
};

// How far a run is in its present length; nothing: as far as it was saved.
struct Passed {
  std::optional<int64_t> epochs{};
  std::optional<int64_t> batches{};
  // Of steps, their share of those saved: an optimizer may have done fewer.
  std::optional<double> step_share{};
};

class Schedules {
 public:
  struct Entry {
    // Name of the optimizer; empty: the only one.
    std::string optimizer;
    std::shared_ptr<Scheduler> scheduler;
    // Where it stands in the job file, for messages.
    std::string path;
  };

  Schedules() = default;
  explicit Schedules(std::vector<Entry> entries)
      : entries_(std::move(entries)) {}

  // Throws Error(kBadSpec) naming the entry: no such optimizer, a length that
  // does not fit. `warn` is told of steps left out; it outlives this.
  void Bind(const NamedOptimizers& optimizers, const RunLength& length,
            std::function<void(const std::string&)> warn = {});
  // Sets the values of a run's start.
  void Start();
  // A batch is done: steps what goes by batch, and what goes by optimizer step
  // as often as its optimizer stepped. Costs nothing without such.
  void AfterBatch();
  // An epoch ran to its end: steps what goes by epoch. Throws Error(kBadSpec)
  // when a scheduler's score is missing from a complete epoch and it is
  // strict.
  void AfterEpoch(const EpochScores& epoch);
  // A validation within an epoch: those that look at a score look at it. Throws
  // as AfterEpoch().
  void AfterValidation(const EpochScores& validation);

  bool empty() const { return entries_.empty(); }
  nlohmann::ordered_json State() const;
  // After the optimizers are restored. An optimizer of `fresh` (by name) lost
  // its settings, so its schedulers' steps are done again from the start.
  // `passed`: the run's length, or the batches of its epochs, are others than
  // when it was saved, and this is where it stands in them: schedulers that
  // follow the run go on from there, and the steps of all of their optimizers
  // are done again.
  // A scheduler with a score that is part of another one (can_redo()) loses
  // what it lowered, and keeps its optimizer where it is. Throws
  // Error(kInfrastructure) when the schedulers are others than those of
  // `state`.
  void LoadState(const nlohmann::ordered_json& state,
                 const std::vector<std::string>& fresh = {},
                 const std::optional<Passed>& passed = {});

 private:
  struct Bound {
    std::string name;
    std::shared_ptr<Optimizer> optimizer;
    std::shared_ptr<Scheduler> scheduler;
    std::string path;
    // The optimizer's steps that a scheduler by step has seen.
    int64_t seen_steps = 0;
  };

  static void Reset(Optimizer& optimizer);
  // The score that a scheduler with a metric looks at.
  std::optional<double> ScoreFor(const Bound& bound,
                                 const EpochScores& epoch) const;

  std::vector<Entry> entries_;
  std::vector<Bound> bound_;
  std::function<void(const std::string&)> warn_;
  bool has_batch_schedulers_ = false;
};

}  // namespace epochd::engine
