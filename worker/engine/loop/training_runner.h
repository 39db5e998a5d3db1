// SPDX-License-Identifier: Apache-2.0
//
// TrainingRunner: forward, loss, backward, step, with gradient accumulation
// and autocast. Points fire in this order, those marked only with batches that
// end in an optimizer step:
//
//   on_epoch_start
//     on_pre_step         the batch is there, on the device
//     on_post_forward     the loss is known (still inside autocast)
//     on_post_backward *  gradients are averaged over ranks
//     on_post_step        position and meter include the batch
//   on_epoch_end
//
// With accumulation n the loss is divided by n before backward and the
// optimizer steps every n batches and on the last one of the epoch.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/hook/hook_point.h"
#include "worker/engine/loop/epoch_runner.h"
#include "worker/engine/loop/precision.h"

namespace epochd::engine {

class TrainingRunner : public EpochRunner {
 public:
  struct Options {
    int64_t accumulation = 1;
    Precision precision = Precision::kFloat32;
  };
  TrainingRunner(std::shared_ptr<Optimizer> optimizer, Options options)
      : optimizer_(std::move(optimizer)), options_(options) {}

  HookPoint<RunnerContext> on_epoch_start;
  HookPoint<RunnerContext> on_pre_step;
  HookPoint<RunnerContext> on_post_forward;
  HookPoint<RunnerContext> on_post_backward;
  HookPoint<RunnerContext> on_post_step;
  HookPoint<RunnerContext> on_epoch_end;

  bool RunEpoch(EpochRun& run) override;
  std::vector<std::pair<std::string, std::shared_ptr<Optimizer>>> Optimizers()
      const override {
    return {{"optimizer", optimizer_}};
  }
  void Attach(Hook& hook) override { hook.AttachToTraining(*this); }
  void CheckModel(Model&) const override {}
  bool needs_criterion() const override { return true; }

 private:
  std::shared_ptr<Optimizer> optimizer_;
  const Options options_;
};

}  // namespace epochd::engine
