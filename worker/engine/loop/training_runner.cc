// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/training_runner.h"

#include <ATen/ATen.h>

#include "worker/engine/core/error.h"

namespace epochd::engine {

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
      run.sync.BeforeForward();
      at::Tensor total;
      {
        AutocastGuard autocast(precision_, run.device.type());
        batch.Merge(run.model.Forward(batch));
        context.loss = run.criterion.Compute(batch, &context.losses);
        on_post_forward.Fire(context);
        total = TotalLoss(context.loss, context.extra_losses);
      }
      update_.Backward(run.sync, total, share);
      context.loss = context.loss.detach();
      AddLosses(context.loss, context.losses, context.samples, run.meter);
      if (share.ends_group) Step(run, context);
    }
    ++position.batch;
    ++position.global_batch;
    context.step = position.step;
    context.global_batch = position.global_batch;
    on_post_step.Fire(context);
    AddMetrics(context.metrics, context.samples, run.meter);
    on_step_metrics.Fire(context);
    context.entry = nullptr;
    if (share.ends_group && run.control.AfterStep(context.stop)) return false;
  }
  on_epoch_end.Fire(context);
  return true;
}

void TrainingRunner::Step(EpochRun& run, RunnerContext& context) {
  on_post_backward.Fire(context);
  update_.Unscale();
  on_before_optimizer_step.Fire(context);
  if (context.skip_step) {
    update_.Drop();
  } else {
    context.stepped = update_.Step();
  }
  if (context.stepped) ++run.position.step;
  context.step = run.position.step;
  on_after_optimizer_step.Fire(context);
}

}  // namespace epochd::engine
