// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/gan_training_runner.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstddef>

#include "worker/engine/core/error.h"
#include "worker/engine/core/scalar.h"
#include "worker/engine/loop/batch_feed.h"
#include "worker/engine/loop/explain.h"

namespace epochd::engine {
namespace {

// Keeps gradients from being computed for these while it lives, and so from
// staying behind in them.
class FrozenGuard {
 public:
  explicit FrozenGuard(std::vector<NamedTensor> parameters) {
    for (NamedTensor& each : parameters) {
      if (!each.tensor.requires_grad()) continue;
      each.tensor.set_requires_grad(false);
      frozen_.push_back(std::move(each.tensor));
    }
  }
  ~FrozenGuard() {
    for (at::Tensor& tensor : frozen_) tensor.set_requires_grad(true);
  }
  FrozenGuard(const FrozenGuard&) = delete;
  FrozenGuard& operator=(const FrozenGuard&) = delete;

 private:
  std::vector<at::Tensor> frozen_;
};

at::Tensor Discriminate(const GanContext& context, const at::Tensor& images) {
  return Explained("discriminator", *context.entry, context.model,
                   [&] { return context.gan->Discriminate(images); });
}

// Lists what the loss consists of among the losses of the batch.
at::Tensor ComputeListed(const Criterion& criterion, GanContext& context) {
  NamedLosses parts;
  at::Tensor loss = criterion.Compute(*context.entry, &parts);
  for (auto& [name, value] : parts) {
    for (const char* sum : {"d_loss", "g_loss", "pixel_loss"}) {
      if (name != sum) continue;
      throw Error(ErrorKind::kBadSpec,
                  "loss \"" + name +
                      "\": the sum of such losses is called so; another name "
                      "is needed");
    }
    if (FindLoss(context.losses, name) != nullptr) {
      throw Error(ErrorKind::kBadSpec,
                  "loss \"" + name +
                      "\": both sides of the GAN, or one and the pixel loss, "
                      "have one of this name; other names are needed");
    }
    context.losses.emplace_back(std::move(name), std::move(value));
  }
  return loss;
}

// The loss that was just stepped by, what it consists of, which is listed from
// `first` on, and what hooks added to it.
void AddTerms(const char* name, size_t first, const NamedLosses& extras,
              GanContext& context, Meter& meter) {
  NamedLosses& losses = context.losses;
  NameExtraLosses(context, {{name, context.loss}});
  std::rotate(losses.begin() + static_cast<ptrdiff_t>(first), losses.end() - 1,
              losses.end());
  NameExtraLosses(context, extras);
  for (size_t i = first; i < losses.size(); ++i) {
    meter.Add(losses[i].first, losses[i].second, context.samples);
  }
}

}  // namespace

void GanTrainingRunner::CheckModel(Model& model) const {
  if (dynamic_cast<AdversarialModel*>(&model) == nullptr) {
    throw Error(ErrorKind::kBadSpec,
                "experiment.model: has no generator and discriminator; a "
                "GanTrainingRunner trains a GanModel");
  }
}

nlohmann::ordered_json GanTrainingRunner::State() const {
  return {{"d_steps", d_steps_},
          {"g_steps", g_steps_},
          {"generator", generator_.State()},
          {"discriminator", discriminator_.State()}};
}

void GanTrainingRunner::LoadState(const nlohmann::ordered_json& state) {
  d_steps_ = state.value("d_steps", int64_t{0});
  g_steps_ = state.value("g_steps", int64_t{0});
  for (Update* update : {&generator_, &discriminator_}) {
    const auto own = state.find(update->name());
    if (own != state.end()) update->LoadState(*own);
  }
}

bool GanTrainingRunner::RunEpoch(EpochRun& run) {
  CheckModel(run.model);
  Position& position = run.position;
  d_criterion_.SetEpoch(position.epoch);
  g_criterion_.SetEpoch(position.epoch);
  if (position.batch == 0) d_steps_ = g_steps_ = 0;
  BatchFeed feed(run.source, position.batch, run.data_wait);
  GanContext context;
  context.phase = run.phase;
  context.epoch = position.epoch;
  context.batch = position.batch;
  context.num_batches = feed.num_batches();
  context.step = position.step;
  context.global_batch = position.global_batch;
  context.model = &run.model;
  context.gan = dynamic_cast<AdversarialModel*>(&run.model);
  context.generator_optimizer = &generator_.optimizer();
  context.discriminator_optimizer = &discriminator_.optimizer();
  context.generator_update = &generator_;
  context.discriminator_update = &discriminator_;
  run.model.SetTraining(true);
  on_epoch_start.Fire(context);
  generator_.Forget();
  discriminator_.Forget();

  Batch batch;
  while (feed.Next(batch)) {
    run.Receive(batch, position.batch);
    context.batch = position.batch;
    context.is_last = feed.is_last();
    context.entry = &batch;
    context.samples = batch.Size();
    context.d_steps = d_steps_;
    context.g_steps = g_steps_;
    context.run_d = context.run_g = true;
    context.warming_up = context.skip = context.stepped = false;
    context.loss.reset();
    context.losses.clear();
    context.metrics.clear();
    context.d_extra_losses.clear();
    context.g_extra_losses.clear();
    batch.Set("real", batch.At(context.gan->real_field()));
    {
      AutocastGuard autocast(precision_, run.device.type());
      batch.Set("fake", Explained("generator", batch, &run.model, [&] {
                  return context.gan->Generate(batch, context.samples);
                }));
      Postprocess(postprocessors_, batch);
    }
    on_pre_step.Fire(context);
    if (context.warming_up) {
      context.run_d = true;
      context.run_g = false;
    }
    if (context.run_d && !context.skip) TrainDiscriminator(run, context);
    if (context.run_g && !context.skip) TrainGenerator(run, context);

    if (context.stepped) ++position.step;
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
        run.control.AfterBatch({.is_last = feed.is_last(),
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

void GanTrainingRunner::Step(Update& update, HookPoint<GanContext>& before,
                             HookPoint<GanContext>& after,
                             GanContext& context) {
  context.skip_step = false;
  update.Unscale();
  before.Fire(context);
  const bool stepped = !context.skip_step && update.Step();
  if (context.skip_step) update.Drop();
  context.stepped |= stepped;
  after.Fire(context);
}

void GanTrainingRunner::TrainDiscriminator(EpochRun& run, GanContext& context) {
  Batch& batch = *context.entry;
  const size_t first = context.losses.size();
  // Hooks and earlier steps may have left something behind.
  discriminator_.Forget();
  on_pre_d_forward.Fire(context);
  {
    AutocastGuard autocast(precision_, run.device.type());
    batch.Set("score_real", Discriminate(context, batch.At("real")));
    batch.Set("score_fake", Discriminate(context, batch.At("fake").detach()));
    context.loss = ComputeListed(d_criterion_, context);
  }
  on_post_d_forward.Fire(context);
  discriminator_.Backward(run.sync,
                          TotalLoss(context.loss, context.d_extra_losses), {});
  on_post_d_backward.Fire(context);
  Step(discriminator_, on_before_d_step, on_after_d_step, context);
  if (!context.warming_up) ++d_steps_;
  AddTerms("d_loss", first, context.d_extra_losses, context, run.meter);
}

void GanTrainingRunner::TrainGenerator(EpochRun& run, GanContext& context) {
  Batch& batch = *context.entry;
  const size_t first = context.losses.size();
  on_pre_g_forward.Fire(context);
  const FrozenGuard frozen(context.gan->discriminator().Parameters());
  {
    AutocastGuard autocast(precision_, run.device.type());
    {
      c10::NoGradGuard no_grad;
      batch.Set("score_real", Discriminate(context, batch.At("real")));
    }
    batch.Set("score_fake", Discriminate(context, batch.At("fake")));
    context.loss = ComputeListed(g_criterion_, context);
    if (!run.criterion.empty()) {
      const at::Tensor pixel = ComputeListed(run.criterion, context);
      context.losses.emplace_back("pixel_loss", WithoutGraph(pixel));
      context.loss = TotalLoss(context.loss, {{"pixel", pixel}});
    }
  }
  on_post_g_forward.Fire(context);
  generator_.Backward(run.sync, TotalLoss(context.loss, context.g_extra_losses),
                      {});
  on_post_g_backward.Fire(context);
  Step(generator_, on_before_g_step, on_after_g_step, context);
  ++g_steps_;
  AddTerms("g_loss", first, context.g_extra_losses, context, run.meter);
}

}  // namespace epochd::engine
