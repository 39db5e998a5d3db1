// SPDX-License-Identifier: Apache-2.0
//
// CheckpointSaver: saves a run by a policy, when it is asked to, when an epoch
// is the best so far, and at the end; removes what the policy does not keep,
// but never before a newer one is recorded by whoever listens to events. A
// failed save is told and the training goes on. Folders:
//
//   <output>/checkpoints/epoch-0003-step-000123             after epoch 3
//   <output>/checkpoints/epoch-0004-batch-00012-step-000135 within epoch 4
#pragma once

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class CheckpointSaver : public engine::Hook {
 public:
  struct Options {
    // One of these, or none: only at the end and by request.
    std::optional<int64_t> every_epochs = 1;
    std::optional<int64_t> every_steps = {};
    std::optional<double> every_seconds = {};
    int64_t keep_last = 3;
    int64_t keep_best = 1;
  };
  explicit CheckpointSaver(Options options) : options_(options) {}

  const char* name() const override { return "CheckpointSaver"; }
  void AttachToTrainer(engine::Trainer& trainer) override;

  // Whether this run saved anything that it could go on from.
  bool has_saved() const { return !saved_.empty(); }

 private:
  struct Saved {
    std::string path;
    double monitored = std::numeric_limits<double>::quiet_NaN();
    int64_t event = 0;  // position of its event
  };
  void AtStep(engine::TrainerContext& context);
  void AtEpoch(engine::TrainerContext& context);
  void Save(const engine::TrainerContext& context, bool after_epoch);
  void RemoveOld();
  bool IsKept(size_t index) const;

  const Options options_;
  engine::Trainer* trainer_ = nullptr;
  // Oldest first; of this attempt alone, and on rank 0 alone.
  std::vector<Saved> saved_;
  std::string newest_;  // path of the newest, on all ranks
  std::chrono::steady_clock::time_point last_save_;
};

engine::Entry<engine::Hook> CheckpointSaverEntry();

}  // namespace epochd::hooks
