// SPDX-License-Identifier: Apache-2.0
//
// Hook: optional behaviour of a run. When attached it binds callbacks to the
// points that it wants. Hooks run by priority, and among equals in the order in
// which they were declared; a model's own hook (Model::own_hook) runs after
// all. What a hook must remember across a restart is its state. A hook
// outlives what it is attached to. One thread.
//
// What a trainer does with it, in this order:
//
//   AttachTo...()   when the experiment is built: bind to points
//   Setup()         a run begins: open what the hook needs
//   LoadState()     when the run goes on from a checkpoint
//   (points fire)
//   OnException()   when the run fails or is interrupted
//   Finalize()      the run's result is known
//   Teardown()      close what Setup() opened
//
// The last three reach only hooks whose Setup() returned.
#pragma once

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "worker/engine/hook/priority.h"

namespace epochd::engine {

struct TrainerContext;
class GanTrainingRunner;
class PredictionRunner;
class Trainer;
class TrainingRunner;
class ValidationRunner;

// How a run, an evaluation or a prediction ended.
enum class RunResult { kSuccess, kFailed, kInterrupted };
// "success", "failed" or "interrupted".
const char* ToString(RunResult result);

class Hook {
 public:
  virtual ~Hook() = default;

  // The component's name; with others of the same name it gets a number, and
  // its state is kept under that.
  virtual const char* name() const = 0;

  // Called once for each of these: for the trainer always and first; for the
  // runners in the hook's scope or, where it is in a runner's own list, for
  // that runner. A custom runner asks for an interface of its own by
  // dynamic_cast (EpochRunner::Attach).
  virtual void AttachToTrainer(Trainer&) {}
  virtual void AttachToTraining(TrainingRunner&) {}
  virtual void AttachToGan(GanTrainingRunner&) {}
  virtual void AttachToValidation(ValidationRunner&) {}
  virtual void AttachToPrediction(PredictionRunner&) {}

  virtual void Setup(Trainer&) {}
  // The context is the last one. An interruption is an Interruption.
  virtual void OnException(TrainerContext&, const std::exception&) {}
  virtual void Finalize(TrainerContext&, RunResult) {}
  // What it throws is told as a warning.
  virtual void Teardown(Trainer&) {}

  // Null: nothing to remember. Doubles go through FromNumber(). That of rank 0
  // is kept, and given to all ranks: what counts must be the same on all.
  virtual nlohmann::ordered_json State() const { return nullptr; }
  virtual void LoadState(const nlohmann::ordered_json&) {}

  // Whether its callbacks at steps may set RunnerContext::stop. On several
  // ranks all of them then agree after each step, so that they end after the
  // very one; false spares the training that.
  virtual bool may_stop() const { return true; }

  // See hook/priority.h. Set before it is attached.
  int priority() const { return priority_; }
  void set_priority(int priority) { priority_ = priority; }
  // Passes whose runner a hook of the trainer attaches to: "train", "val",
  // "predict"; empty: all. It always attaches to the trainer itself.
  const std::vector<std::string>& scope() const { return scope_; }
  void set_scope(std::vector<std::string> scope) { scope_ = std::move(scope); }
  bool IsInScope(std::string_view pass) const;

 private:
  int priority_ = kNormalPriority;
  std::vector<std::string> scope_;
};

// What OnException() is given when nothing failed: the run was asked to end.
class Interruption : public std::exception {
 public:
  explicit Interruption(std::string reason) : reason_(std::move(reason)) {}
  const char* what() const noexcept override { return reason_.c_str(); }

 private:
  std::string reason_;
};

}  // namespace epochd::engine
