// SPDX-License-Identifier: Apache-2.0
//
// NanGuard: has steps whose loss or gradients are not finite left out on any
// device, tells of them with epoch and batch, and ends the training with an
// error at the `limit`-th in a row. Who looks, leaves out and counts is the
// optimizer's Update (loop/update.h: faults()), with or without this hook.
// Looking waits for the device, once a step.
#pragma once

#include <cstdint>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class NanGuard : public engine::Hook {
 public:
  // `limit` 0: never an error of this hook's.
  explicit NanGuard(int64_t limit) : limit_(limit) {}

  const char* name() const override { return "NanGuard"; }
  bool may_stop() const override { return false; }
  void AttachToTrainer(engine::Trainer& trainer) override {
    trainer_ = &trainer;
  }
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  // After a step of `update`'s, done or left out. `total`: such steps so far.
  void Judge(const engine::RunnerContext& context, const engine::Update& update,
             int64_t total) const;

  const int64_t limit_;
  engine::Trainer* trainer_ = nullptr;
};

engine::Entry<engine::Hook> NanGuardEntry();

}  // namespace epochd::hooks
