// SPDX-License-Identifier: Apache-2.0
//
// Hook: optional behaviour of a run. When attached it binds callbacks to the
// points that it wants; hooks run in the order of the list they stand in.
// What it must remember across a restart is its state. A hook outlives what it
// is attached to. One thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace epochd::engine {

class EpochTrainer;
class TrainingRunner;
class ValidationRunner;
class GanTrainingRunner;

class Hook {
 public:
  virtual ~Hook() = default;

  // The component's name; with others of the same name it gets a number, and
  // its state is kept under that.
  virtual const char* name() const = 0;

  // Called once for each of these that the hook's list belongs to.
  virtual void AttachToTrainer(EpochTrainer&) {}
  virtual void AttachToTraining(TrainingRunner&) {}
  virtual void AttachToValidation(ValidationRunner&) {}
  virtual void AttachToGan(GanTrainingRunner&) {}

  // Null: nothing to remember. Doubles go through FromNumber().
  virtual nlohmann::ordered_json State() const { return nullptr; }
  virtual void LoadState(const nlohmann::ordered_json&) {}
};

}  // namespace epochd::engine
