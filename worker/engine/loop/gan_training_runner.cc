// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/gan_training_runner.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "worker/engine/core/error.h"

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

void AddTerms(const char* name, const at::Tensor& loss,
              const NamedLosses& extras, int64_t samples, Meter& meter) {
  meter.Add(name, loss.detach(), samples);
  for (const auto& [extra, value] : extras) {
    meter.Add(extra, value.detach(), samples);
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
  return {{"d_steps", d_steps_}, {"g_steps", g_steps_}};
}

void GanTrainingRunner::LoadState(const nlohmann::ordered_json& state) {
  d_steps_ = state.value("d_steps", int64_t{0});
  g_steps_ = state.value("g_steps", int64_t{0});
}

bool GanTrainingRunner::RunEpoch(EpochRun& run) {
  CheckModel(run.model);
  Position& position = run.position;
  if (position.batch == 0) d_steps_ = g_steps_ = 0;
  GanContext context;
  context.phase = run.phase;
  context.epoch = position.epoch;
  context.batch = position.batch;
  context.num_batches = run.source.NumBatches();
  context.step = position.step;
  context.global_batch = position.global_batch;
  context.model = &run.model;
  context.gan = dynamic_cast<AdversarialModel*>(&run.model);
  context.generator_optimizer = generator_.get();
  context.discriminator_optimizer = discriminator_.get();
  run.model.SetTraining(true);
  on_epoch_start.Fire(context);
  generator_->ZeroGrad();
  discriminator_->ZeroGrad();

  Batch batch;
  while (run.source.Next(batch)) {
    batch = batch.To(run.device);
    context.batch = position.batch;
    context.entry = &batch;
    context.samples = batch.Size();
    context.d_steps = d_steps_;
    context.g_steps = g_steps_;
    context.run_d = context.run_g = true;
    context.warming_up = context.skip = false;
    context.d_extra_losses.clear();
    context.g_extra_losses.clear();
    batch.Set("real", batch.At(context.gan->real_field()));
    {
      AutocastGuard autocast(options_.precision, run.device.type());
      batch.Set("fake", context.gan->Generate(batch, context.samples));
    }
    on_pre_step.Fire(context);
    if (position.batch + 1 == context.num_batches) {
      context.run_d = context.run_g = true;
    }
    if (context.warming_up) {
      context.run_d = true;
      context.run_g = false;
    }
    if (context.run_d && !context.skip) StepDiscriminator(run, context);
    if (context.run_g && !context.skip) StepGenerator(run, context);

    ++position.step;
    ++position.batch;
    ++position.global_batch;
    context.step = position.step;
    context.global_batch = position.global_batch;
    on_post_step.Fire(context);
    context.entry = nullptr;
    if (run.control.AfterStep(context.stop)) return false;
  }
  on_epoch_end.Fire(context);
  return true;
}

void GanTrainingRunner::StepDiscriminator(EpochRun& run, GanContext& context) {
  Batch& batch = *context.entry;
  on_pre_d_forward.Fire(context);
  {
    AutocastGuard autocast(options_.precision, run.device.type());
    batch.Set("score_real", context.gan->Discriminate(batch.At("real")));
    batch.Set("score_fake",
              context.gan->Discriminate(batch.At("fake").detach()));
    context.loss = d_criterion_.Compute(batch, nullptr);
  }
  on_post_d_forward.Fire(context);
  run.sync.Backward(TotalLoss(context.loss, context.d_extra_losses), true);
  on_post_d_backward.Fire(context);
  discriminator_->Step();
  discriminator_->ZeroGrad();
  if (!context.warming_up) ++d_steps_;
  AddTerms("d_loss", context.loss, context.d_extra_losses, context.samples,
           run.meter);
}

void GanTrainingRunner::StepGenerator(EpochRun& run, GanContext& context) {
  Batch& batch = *context.entry;
  on_pre_g_forward.Fire(context);
  const FrozenGuard frozen(context.gan->discriminator().Parameters());
  {
    AutocastGuard autocast(options_.precision, run.device.type());
    {
      c10::NoGradGuard no_grad;
      batch.Set("score_real", context.gan->Discriminate(batch.At("real")));
    }
    batch.Set("score_fake", context.gan->Discriminate(batch.At("fake")));
    context.loss = g_criterion_.Compute(batch, nullptr);
    if (!run.criterion.empty()) {
      const at::Tensor pixel = run.criterion.Compute(batch, nullptr);
      run.meter.Add("pixel_loss", pixel.detach(), context.samples);
      context.loss = TotalLoss(context.loss, {{"pixel", pixel}});
    }
  }
  on_post_g_forward.Fire(context);
  run.sync.Backward(TotalLoss(context.loss, context.g_extra_losses), true);
  on_post_g_backward.Fire(context);
  generator_->Step();
  generator_->ZeroGrad();
  ++g_steps_;
  AddTerms("g_loss", context.loss, context.g_extra_losses, context.samples,
           run.meter);
}

}  // namespace epochd::engine
