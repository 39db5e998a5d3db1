// SPDX-License-Identifier: Apache-2.0
#include "sharpness_runner.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "worker/engine/loop/batch_feed.h"

namespace sharpness {
namespace {

at::Tensor LossOf(engine::EpochRun& run, engine::Batch& batch,
                  engine::NamedLosses* parts) {
  batch.Merge(run.model.Forward(batch));
  return run.criterion.Compute(batch, parts);
}

}  // namespace

void SharpnessRunner::BindHook(engine::Hook& hook) {
  if (auto* own = dynamic_cast<SharpnessHook*>(&hook)) {
    own->AttachToSharpness(*this);
  }
}

void SharpnessRunner::Step(engine::EpochRun& run, SharpnessContext& context) {
  engine::Batch batch = *context.entry;
  run.sync.BeforeForward(/*sync=*/true);
  context.loss = LossOf(run, batch, &context.losses);
  run.sync.Backward(context.loss, /*sync=*/true);
  context.loss = context.loss.detach();

  std::vector<std::pair<at::Tensor, at::Tensor>> climbs;
  {
    const c10::NoGradGuard no_grad;
    std::vector<at::Tensor> norms;
    for (const engine::NamedTensor& each : optimizer_->parameters()) {
      if (!each.tensor.grad().defined()) continue;
      climbs.emplace_back(each.tensor, each.tensor.grad().clone());
      norms.push_back(at::linalg_vector_norm(climbs.back().second));
    }
    context.gradient_norm = at::linalg_vector_norm(at::stack(norms));
    const at::Tensor factor = rho_ / (context.gradient_norm + 1e-12);
    for (auto& [weight, climb] : climbs) weight.add_(climb.mul_(factor));
  }
  optimizer_->ZeroGrad();
  run.sync.BeforeForward(/*sync=*/true);
  const at::Tensor raised = LossOf(run, *context.entry, nullptr);
  context.raised_loss = raised.detach();
  run.sync.Backward(raised, /*sync=*/true);
  {
    const c10::NoGradGuard no_grad;
    for (auto& [weight, climb] : climbs) weight.sub_(climb);
  }
  on_ascent.Fire(context);
  optimizer_->Step();
  optimizer_->ZeroGrad();
  ++run.position.step;
}

bool SharpnessRunner::RunEpoch(engine::EpochRun& run) {
  engine::BatchFeed feed(run.source, run.position.batch);
  SharpnessContext context;
  context.phase = run.phase;
  context.epoch = run.position.epoch;
  context.batch = run.position.batch;
  context.num_batches = feed.num_batches();
  context.model = &run.model;
  context.optimizer = optimizer_.get();
  run.model.SetTraining(true);
  optimizer_->ZeroGrad();
  on_epoch_start.Fire(context);

  engine::Batch batch;
  while (feed.Next(batch)) {
    run.Receive(batch, run.position.batch);
    context.batch = run.position.batch;
    context.entry = &batch;
    context.samples = batch.Size();
    context.losses.clear();
    context.metrics.clear();
    on_pre_step.Fire(context);
    Step(run, context);
    engine::AddLosses(context.loss, context.losses, context.samples, run.meter);
    ++run.position.batch;
    ++run.position.global_batch;
    run.num_samples += context.samples;
    context.step = run.position.step;
    context.global_batch = run.position.global_batch;
    on_post_step.Fire(context);
    engine::AddMetrics(context.metrics, context.samples, run.meter);
    context.entry = nullptr;
    const auto verdict =
        run.control.AfterBatch({.is_last = feed.is_last(),
                                .hook_wants_stop = context.stop,
                                .stop_reason = context.stop_reason});
    if (LeavesEarly(verdict, feed.is_last())) {
      // What goes on another time is not over.
      if (verdict == engine::StepControl::Verdict::kFinish) {
        on_epoch_end.Fire(context);
      }
      return false;
    }
  }
  CheckWhole(feed);
  on_epoch_end.Fire(context);
  return true;
}

}  // namespace sharpness
