// SPDX-License-Identifier: Apache-2.0
//
// EpochRunner: the training side of a trainer: goes through one loader once
// and steps its optimizers. Holds no criterion. One thread.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/optimizer.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/loop/epoch_run.h"

namespace epochd::engine {

class EpochRunner {
 public:
  virtual ~EpochRunner() = default;

  // Trains from the run's position to the end of the epoch. False: it left
  // early because the run's control said so.
  virtual bool RunEpoch(EpochRun& run) = 0;
  // By name: "optimizer", or "generator" and "discriminator".
  virtual std::vector<std::pair<std::string, std::shared_ptr<Optimizer>>>
  Optimizers() const = 0;
  // Batches that an optimizer step takes.
  virtual int64_t batches_per_step() const { return 1; }
  // Lets the hook bind to this runner's points.
  void Attach(Hook& hook) {
    const BindingPriority priority(hook.priority(), hook.may_stop());
    BindHook(hook);
  }
  // Whether anything bound to its points may ask for the end of the training.
  virtual bool may_stop() const { return true; }
  // Throws Error(kBadSpec) when the model is not of the kind it trains.
  virtual void CheckModel(Model& model) const = 0;
  // Whether the trainer must give a criterion.
  virtual bool needs_criterion() const = 0;
  // No gradients wait for a step; a snapshot would lose them.
  virtual bool can_save() const { return true; }
  // Steps left out since the job began as their gradients were not finite;
  // without those that fp16 looks for its scale by.
  virtual int64_t num_skipped_steps() const { return 0; }
  // What must be remembered inside an epoch; null: nothing.
  virtual nlohmann::ordered_json State() const { return nullptr; }
  virtual void LoadState(const nlohmann::ordered_json&) {}

 protected:
  // Calls the hook's AttachTo... for this kind of runner. A custom runner asks
  // for an interface of its own by dynamic_cast.
  virtual void BindHook(Hook& hook) = 0;
};

}  // namespace epochd::engine
