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
                        .optimizer = optimizer_.get()};
  run.model.SetTraining(true);
  on_epoch_start.Fire(context);
  optimizer_->ZeroGrad();

  Batch batch;
  NamedLosses parts;
  while (run.source.Next(batch)) {
    const bool is_last = position.batch + 1 == context.num_batches;
    const bool steps =
        is_last || (position.batch + 1) % options_.accumulation == 0;
    batch = batch.To(run.device);
    context.batch = position.batch;
    context.entry = &batch;
    context.samples = batch.Size();
    context.skip = false;
    context.extra_losses.clear();
    parts.clear();
    on_pre_step.Fire(context);

    if (!context.skip) {
      run.sync.BeforeForward();
      at::Tensor total;
      {
        AutocastGuard autocast(options_.precision, run.device.type());
        batch.Merge(run.model.Forward(batch));
        context.loss = run.criterion.Compute(batch, &parts);
        on_post_forward.Fire(context);
        total = TotalLoss(context.loss, context.extra_losses);
      }
      if (options_.accumulation > 1) {
        total = total / static_cast<double>(options_.accumulation);
      }
      run.sync.Backward(total, steps);
      AddLosses(context.loss.detach(), parts, context.samples, run.meter);
    }
    if (steps && !context.skip) {
      on_post_backward.Fire(context);
      optimizer_->Step();
      optimizer_->ZeroGrad();
      ++position.step;
    }
    ++position.batch;
    ++position.global_batch;
    context.step = position.step;
    context.global_batch = position.global_batch;
    on_post_step.Fire(context);
    context.entry = nullptr;
    if (steps && run.control.AfterStep(context.stop)) return false;
  }
  on_epoch_end.Fire(context);
  return true;
}

}  // namespace epochd::engine
