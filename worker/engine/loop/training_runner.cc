// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/training_runner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/scalar.h"
#include "worker/engine/loop/batch_feed.h"
#include "worker/engine/loop/explain.h"
#include "worker/engine/loss/flooding.h"

namespace epochd::engine {
namespace {

// For the next batch.
void Clear(RunnerContext& context) {
  context.skip = context.skip_step = context.stepped = false;
  context.loss.reset();
  context.losses.clear();
  context.extra_losses.clear();
  context.metrics.clear();
}

}  // namespace

bool TrainingRunner::RunEpoch(EpochRun& run) {
  Position& position = run.position;
  BatchFeed feed(run.source, position.batch, run.data_wait);
  RunnerContext context{.phase = run.phase,
                        .epoch = position.epoch,
                        .batch = position.batch,
                        .num_batches = feed.num_batches(),
                        .step = position.step,
                        .global_batch = position.global_batch,
                        .model = &run.model,
                        .optimizer = &update_.optimizer(),
                        .update = &update_};
  auto* self_training = dynamic_cast<SelfTraining*>(&run.model);
  run.model.SetTraining(true);
  on_epoch_start.Fire(context);
  if (!run.groups_cross_epochs) update_.Forget();

  Batch batch;
  while (feed.Next(batch)) {
    run.Receive(batch, position.batch);
    context.batch = position.batch;
    context.entry = &batch;
    context.samples = batch.Size();
    Clear(context);
    on_pre_step.Fire(context);

    const bool ends_run = position.global_batch + 1 == run.total_batches;
    const Update::Share share =
        run.groups_cross_epochs
            ? update_.ShareOf(position.global_batch, run.total_batches,
                              ends_run)
            : update_.ShareOf(position.batch, feed.num_batches(),
                              feed.is_last() || ends_run);
    if (!context.skip) {
      run.sync.BeforeForward(share.ends_group);
      if (self_training != nullptr) {
        TrainByModel(*self_training, run, context, share);
      } else {
        Train(run, context, share);
      }
    } else if (share.ends_group && update_.num_waiting() > 0) {
      update_.CloseGroup(run.sync);
      Step(run, context, {});
    }
    ++position.batch;
    ++position.global_batch;
    context.step = position.step;
    context.global_batch = position.global_batch;
    run.num_samples += context.samples;
    on_post_step.Fire(context);
    AddMetrics(context.metrics, context.samples, run.meter);
    on_step_metrics.Fire(context);
    context.entry = nullptr;
    const StepControl::Verdict verdict =
        run.control.AfterBatch({.ends_group = update_.num_waiting() == 0,
                                .is_last = feed.is_last(),
                                .hook_wants_stop = context.stop,
                                .stop_reason = context.stop_reason});
    if (LeavesEarly(verdict, feed.is_last())) {
      // What goes on another time is not over.
      if (verdict == StepControl::Verdict::kFinish) on_epoch_end.Fire(context);
      return false;
    }
  }
  CheckWhole(feed);
  on_epoch_end.Fire(context);
  return true;
}

bool TrainingRunner::may_stop() const {
  const auto points = {&on_epoch_start,
                       &on_pre_step,
                       &on_post_forward,
                       &on_post_backward,
                       &on_before_optimizer_step,
                       &on_after_optimizer_step,
                       &on_post_step,
                       &on_step_metrics};
  return std::any_of(points.begin(), points.end(),
                     [](const auto* point) { return point->may_stop(); });
}

void TrainingRunner::Predict(EpochRun& run, Batch& batch) {
  batch.Merge(Explained("model", batch, &run.model,
                        [&] { return run.model.Forward(batch); }));
  Postprocess(postprocessors_, batch);
}

at::Tensor TrainingRunner::Forward(EpochRun& run, RunnerContext& context) {
  Batch& batch = *context.entry;
  const AutocastGuard autocast(precision_, run.device.type());
  Predict(run, batch);
  context.losses.clear();
  context.loss =
      run.criterion.ComputeAt(run.position.step, batch, &context.losses,
                              /*begins_step=*/update_.num_waiting() == 0);
  on_post_forward.Fire(context);
  return Flood(TotalLoss(context.loss, context.extra_losses), flooding_level_);
}

void TrainingRunner::Train(EpochRun& run, RunnerContext& context,
                           const Update::Share& share) {
  Backward(run, context, Forward(run, context), share);
  context.loss = WithoutGraph(context.loss);
  NameExtraLosses(context, context.extra_losses);
  AddLosses(context.loss, context.losses, context.samples, run.meter);
}

void TrainingRunner::Backward(EpochRun& run, RunnerContext& context,
                              const at::Tensor& total,
                              const Update::Share& share) {
  Explained("backward pass", *context.entry, &run.model, [&] {
    const double num_items = update_.CountsItems(run.sync)
                                 ? run.criterion.NumItems(*context.entry)
                                 : 1;
    update_.Backward(run.sync, total, share, num_items);
  });
  if (share.ends_group) Step(run, context, total);
}

// What a model that trains itself is given.
class TrainingRunner::ModelsStepper : public SelfTraining::Stepper {
 public:
  ModelsStepper(TrainingRunner& runner, EpochRun& run, RunnerContext& context,
                const Update::Share& share)
      : runner_(runner), run_(run), context_(context), share_(share) {}

  void Update(const at::Tensor& loss) override {
    is_called_ = true;
    context_.loss = loss;
    at::Tensor total;
    {
      const AutocastGuard autocast(runner_.precision_, run_.device.type());
      runner_.on_post_forward.Fire(context_);
      total = Flood(TotalLoss(context_.loss, context_.extra_losses),
                    runner_.flooding_level_);
    }
    // The model may call from its forward pass.
    const NoAutocastGuard no_autocast(run_.device.type());
    runner_.Backward(run_, context_, total, share_);
    context_.loss = WithoutGraph(context_.loss);
  }
  bool is_called() const { return is_called_; }

 private:
  TrainingRunner& runner_;
  EpochRun& run_;
  RunnerContext& context_;
  const engine::Update::Share share_;
  bool is_called_ = false;
};

void TrainingRunner::TrainByModel(SelfTraining& model, EpochRun& run,
                                  RunnerContext& context,
                                  const Update::Share& share) {
  ModelsStepper stepper(*this, run, context, share);
  SelfTraining::Values values;
  {
    const AutocastGuard autocast(precision_, run.device.type());
    values = Explained("model", *context.entry, &run.model, [&] {
      return model.TrainStep(*context.entry, stepper);
    });
  }
  at::Tensor total;
  for (auto& [name, value] : values) {
    const at::Tensor mean = value.mean();
    if (name.find("loss") != std::string::npos) {
      total = total.defined() ? total + mean : mean;
    }
    // "loss" is the whole, also when the model calls a part of it so.
    if (name != "loss") context.losses.emplace_back(name, mean.detach());
  }
  if (!stepper.is_called()) {
    if (!total.defined()) {
      throw Error(ErrorKind::kTraining,
                  "model: its training step neither updated nor returned a "
                  "value with \"loss\" in its name");
    }
    stepper.Update(total);
  }
  NameExtraLosses(context, context.extra_losses);
  AddLosses(context.loss, context.losses, context.samples, run.meter);
}

Optimizer::Closure TrainingRunner::Evaluation(EpochRun& run,
                                              RunnerContext& context,
                                              const at::Tensor& total) {
  // Told before the first step that needs it.
  if (!update_.optimizer().may_need_closure()) return {};
  const bool is_self_training =
      dynamic_cast<SelfTraining*>(&run.model) != nullptr;
  if (is_self_training || !context.extra_losses.empty()) {
    throw Error(ErrorKind::kBadSpec,
                is_self_training
                    ? "optimizer: evaluates the loss several times a step, "
                      "which a model that trains itself does not offer"
                    : "optimizer: evaluates the loss several times a step, so "
                      "the loss \"" +
                          context.extra_losses.front().first +
                          "\" that a hook adds does not go with it");
  }
  if (!update_.optimizer().needs_closure()) return {};
  // Shared by the copies that an optimizer may make of it.
  const auto known = std::make_shared<at::Tensor>(total.detach());
  return [this, &run, &context, known] {
    if (known->defined()) return std::exchange(*known, at::Tensor());
    update_.optimizer().ZeroGrad();
    run.sync.BeforeForward(true);
    at::Tensor loss;
    {
      const AutocastGuard autocast(precision_, run.device.type());
      Predict(run, *context.entry);
      loss = Flood(run.criterion.Compute(*context.entry, nullptr),
                   flooding_level_);
    }
    run.sync.Backward(loss, /*sync=*/true);
    update_.ClipAgain();
    return loss.detach();
  };
}

void TrainingRunner::Step(EpochRun& run, RunnerContext& context,
                          const at::Tensor& total) {
  on_post_backward.Fire(context);
  update_.Unscale();
  on_before_optimizer_step.Fire(context);
  if (context.skip_step) {
    update_.Drop();
  } else {
    context.stepped = update_.Step(Evaluation(run, context, total));
  }
  if (context.stepped) ++run.position.step;
  context.step = run.position.step;
  on_after_optimizer_step.Fire(context);
}

}  // namespace epochd::engine
