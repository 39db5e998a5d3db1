// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/training_runner.h"

#include <ATen/ATen.h>

#include "worker/engine/core/error.h"
#include "worker/engine/loss/flooding.h"

namespace epochd::engine {

int64_t TrainingRunner::StepsOf(int64_t batches, int64_t epochs) const {
  const int64_t size = update_.options().accumulation;
  if (update_.options().across_epochs) {
    return (batches * epochs + size - 1) / size;
  }
  return (batches + size - 1) / size * epochs;
}

bool TrainingRunner::RunEpoch(EpochRun& run) {
  Position& position = run.position;
  RunnerContext context{.phase = run.phase,
                        .epoch = position.epoch,
                        .batch = position.batch,
                        .num_batches = run.source.NumBatches(),
                        .step = position.step,
                        .global_batch = position.global_batch,
                        .model = &run.model,
                        .optimizer = &update_.optimizer(),
                        .update = &update_};
  run.model.SetTraining(true);
  on_epoch_start.Fire(context);
  update_.optimizer().ZeroGrad();

  Batch batch;
  while (run.source.Next(batch)) {
    batch = batch.To(run.device);
    context.batch = position.batch;
    context.entry = &batch;
    context.samples = batch.Size();
    context.skip = context.skip_step = context.stepped = false;
    context.losses.clear();
    context.extra_losses.clear();
    context.metrics.clear();
    on_pre_step.Fire(context);

    const Update::Share share =
        update_.ShareOf(position.batch, context.num_batches,
                        position.batch + 1 == context.num_batches);
    if (!context.skip) {
      run.sync.BeforeForward(share.ends_group);
      at::Tensor total;
      {
        AutocastGuard autocast(precision_, run.device.type());
        batch.Merge(run.model.Forward(batch));
        context.loss =
            run.criterion.ComputeAt(position.step, batch, &context.losses);
        on_post_forward.Fire(context);
        total = Flood(TotalLoss(context.loss, context.extra_losses),
                      flooding_level_);
      }
      update_.Backward(run.sync, total, share);
      context.loss = context.loss.detach();
      AddLosses(context.loss, context.losses, context.samples, run.meter);
      if (share.ends_group) Step(run, context, total);
    }
    ++position.batch;
    ++position.global_batch;
    context.step = position.step;
    context.global_batch = position.global_batch;
    on_post_step.Fire(context);
    AddMetrics(context.metrics, context.samples, run.meter);
    on_step_metrics.Fire(context);
    context.entry = nullptr;
    run.control.AfterBatch();
    if (share.ends_group && run.control.AfterStep(context.stop)) return false;
  }
  on_epoch_end.Fire(context);
  return true;
}

Optimizer::Closure TrainingRunner::Evaluation(EpochRun& run,
                                              RunnerContext& context,
                                              const at::Tensor& total) {
  if (!update_.optimizer().needs_closure()) return {};
  if (!context.extra_losses.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "optimizer: evaluates the loss several times a step, so the "
                "loss \"" +
                    context.extra_losses.front().first +
                    "\" that a hook adds does not go with it");
  }
  // Shared by the copies that an optimizer may make of it.
  const auto known = std::make_shared<at::Tensor>(total.detach());
  return [this, &run, &context, known] {
    if (known->defined()) return std::exchange(*known, at::Tensor());
    update_.optimizer().ZeroGrad();
    run.sync.BeforeForward(true);
    at::Tensor loss;
    {
      AutocastGuard autocast(precision_, run.device.type());
      Batch& batch = *context.entry;
      batch.Merge(run.model.Forward(batch));
      loss = Flood(run.criterion.Compute(batch, nullptr), flooding_level_);
    }
    run.sync.Backward(loss, /*sync=*/true);
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
