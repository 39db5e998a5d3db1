// SPDX-License-Identifier: Apache-2.0
//
// TrainingRunner: forward, loss, backward, step, with gradient accumulation
// and autocast. Points fire in this order, those marked only with batches that
// end a group (loop/update.h):
//
//   on_epoch_start
//     on_pre_step                  the batch is there, on the device
//     on_post_forward              the loss is known (still inside autocast)
//     on_post_backward *           gradients are averaged over ranks, scaled
//     on_before_optimizer_step *   gradients have their true size
//     on_after_optimizer_step *    weights are new, gradients are cleared
//     on_post_step                 position and losses include the batch
//     on_step_metrics              all scalars of the batch are there
//   on_epoch_end
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/hook/hook_point.h"
#include "worker/engine/loop/epoch_runner.h"
#include "worker/engine/loop/postprocess.h"
#include "worker/engine/loop/precision.h"
#include "worker/engine/loop/update.h"

namespace epochd::engine {

class TrainingRunner : public EpochRunner {
 public:
  struct Options {
    Precision precision = Precision::kFloat32;
    Update::Options update{};
    // Below this loss gradients turn round (loss/flooding.h); 0: nowhere.
    double flooding_level = 0;
    Postprocessors postprocessors{};
  };
  TrainingRunner(std::shared_ptr<Optimizer> optimizer, const Options& options)
      : precision_(options.precision),
        flooding_level_(options.flooding_level),
        postprocessors_(options.postprocessors),
        update_("optimizer", std::move(optimizer), options.update) {}

  HookPoint<RunnerContext> on_epoch_start;
  HookPoint<RunnerContext> on_pre_step;
  HookPoint<RunnerContext> on_post_forward;
  HookPoint<RunnerContext> on_post_backward;
  HookPoint<RunnerContext> on_before_optimizer_step;
  HookPoint<RunnerContext> on_after_optimizer_step;
  HookPoint<RunnerContext> on_post_step;
  HookPoint<RunnerContext> on_step_metrics;
  HookPoint<RunnerContext> on_epoch_end;

  bool RunEpoch(EpochRun& run) override;
  std::vector<std::pair<std::string, std::shared_ptr<Optimizer>>> Optimizers()
      const override {
    return {{"optimizer", update_.shared_optimizer()}};
  }
  int64_t batches_per_step() const override {
    return update_.options().accumulation;
  }
  void CheckModel(Model&) const override {}
  bool needs_criterion() const override { return true; }
  bool can_save() const override { return update_.num_waiting() == 0; }
  bool may_stop() const override;
  int64_t num_skipped_steps() const override { return update_.faults().total; }
  nlohmann::ordered_json State() const override { return update_.State(); }
  void LoadState(const nlohmann::ordered_json& state) override {
    update_.LoadState(state);
  }

 protected:
  void BindHook(Hook& hook) override { hook.AttachToTraining(*this); }

 private:
  class ModelsStepper;
  // The model's output, postprocessed, into the batch; under autocast.
  void Predict(EpochRun& run, Batch& batch);
  // Forward pass and losses; returns what is to be differentiated.
  at::Tensor Forward(EpochRun& run, RunnerContext& context);
  void Train(EpochRun& run, RunnerContext& context, const Update::Share& share);
  void TrainByModel(SelfTraining& model, EpochRun& run, RunnerContext& context,
                    const Update::Share& share);
  void Backward(EpochRun& run, RunnerContext& context, const at::Tensor& total,
                const Update::Share& share);
  // From gradients to new weights. `total`: what was differentiated, where
  // there was one batch.
  void Step(EpochRun& run, RunnerContext& context, const at::Tensor& total);
  // For an optimizer that needs a closure: gives `total`, whose gradients are
  // there, then evaluates the batch again, without hooks. Empty for others.
  Optimizer::Closure Evaluation(EpochRun& run, RunnerContext& context,
                                const at::Tensor& total);

  const Precision precision_;
  const double flooding_level_;
  const Postprocessors postprocessors_;
  Update update_;
};

}  // namespace epochd::engine
