// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/validation_runner.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "worker/engine/core/error.h"
#include "worker/engine/loop/explain.h"

namespace epochd::engine {
namespace {

// Errors say which metric it was.
void UpdateMetric(Metric& metric, const Batch& batch) {
  const std::string part = "metric " + metric.name();
  try {
    metric.Update(batch);
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    ThrowExplained(error, part, batch, nullptr);
  } catch (const Error& error) {
    throw Error(error.kind(), part + ": " + error.what());
  }
}

}  // namespace

bool ValidationRunner::RunEpoch(EpochRun& run) {
  RunnerContext context{.phase = run.phase,
                        .epoch = run.position.epoch,
                        .num_batches = run.source.NumBatches(),
                        .step = run.position.step,
                        .global_batch = run.position.global_batch,
                        .model = &run.model};
  run.meter.Reset();
  for (const auto& metric : run.metrics) metric->Reset();
  const c10::NoGradGuard no_grad;
  auto* const gan = dynamic_cast<AdversarialModel*>(&run.model);
  run.model.SetTraining(false);
  on_epoch_start.Fire(context);

  Batch batch;
  while (context.batch != run.max_batches && run.source.Next(batch)) {
    if (run.control.ShouldLeave()) return false;
    run.Receive(batch, context.batch);
    context.entry = &batch;
    context.samples = batch.Size();
    context.losses.clear();
    context.metrics.clear();
    on_pre_step.Fire(context);
    {
      const AutocastGuard autocast(options_.precision, run.device.type());
      batch.Merge(Explained("model", batch, &run.model,
                            [&] { return run.model.Forward(batch); }));
      // As in training.
      if (gan != nullptr && batch.Find(gan->real_field()) != nullptr) {
        batch.Set("real", batch.At(gan->real_field()));
      }
      Postprocess(options_.postprocessors, batch);
      context.loss = run.criterion.Compute(batch, &context.losses);
    }
    AddLosses(context.loss, context.losses, context.samples, run.meter);
    for (const auto& metric : run.metrics) UpdateMetric(*metric, batch);
    on_post_step.Fire(context);
    AddMetrics(context.metrics, context.samples, run.meter);
    run.num_samples += context.samples;
    ++context.batch;
  }
  context.entry = nullptr;
  on_epoch_end.Fire(context);
  return true;
}

}  // namespace epochd::engine
