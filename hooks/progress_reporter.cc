// SPDX-License-Identifier: Apache-2.0
#include "hooks/progress_reporter.h"

#include <algorithm>

#include "worker/engine/core/number.h"
#include "worker/engine/core/scalar.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

using engine::FromNumber;
using engine::Json;

Json ToJson(const engine::Scores& scores) {
  Json json = Json::object();
  for (const auto& [name, value] : scores) json[name] = FromNumber(value);
  return json;
}

// A number that is not known beforehand is told as 0.
int64_t Known(int64_t count) { return std::max<int64_t>(count, 0); }

}  // namespace

void ProgressReporter::AttachToTrainer(engine::Trainer& trainer) {
  if (trainer.HasHook(name())) return;
  trainer_ = &trainer;
  if (!trainer.is_main_rank()) return;
  trainer.on_training_began.Bind(
      [this](engine::TrainerContext& context) { TellBegan(context); });
  trainer.on_validation_finished.Bind(
      [this](engine::TrainerContext& context) { TellValidated(context); });
  trainer.on_epoch_finished.Bind(
      [this](engine::TrainerContext& context) { TellFinished(context); });
}

void ProgressReporter::TellBegan(const engine::TrainerContext& context) {
  const engine::BatchSource& train = trainer_->train();
  const engine::BatchSource* val = trainer_->val();
  int64_t parameters = 0;
  for (const engine::NamedTensor& each : trainer_->model().Parameters()) {
    parameters += each.tensor.numel();
  }
  trainer_->events().Emit(
      "training_began",
      {{"total_epochs", Known(context.total_epochs)},
       {"initial_epoch", context.initial_epoch + 1},
       {"initial_batch", context.initial_batch},
       {"train_batches", Known(train.NumBatches())},
       {"val_batches", val != nullptr ? Known(val->NumBatches()) : 0},
       {"train_samples", train.NumSamples()},
       {"val_samples", val != nullptr ? val->NumSamples() : 0},
       {"parameters", parameters},
       {"resumed_from", trainer_->resumed_from()}});
}

void ProgressReporter::TellValidated(const engine::TrainerContext& context) {
  if (!context.is_mid_epoch) return;
  trainer_->events().Emit("metrics", {{"epoch", context.epoch + 1},
                                      {"step", trainer_->position().step},
                                      {"metrics", ToJson(context.scores)}});
  // The training pass goes on, and its rate from here.
  pass_began_ = Clock::now();
  pass_samples_ = 0;
}

void ProgressReporter::TellFinished(const engine::TrainerContext& context) {
  Json rates = Json::object();
  for (const auto& [name, optimizer] :
       trainer_->training_runner().Optimizers()) {
    rates[name] = FromNumber(optimizer->lr());
  }
  trainer_->events().Emit("epoch_finished",
                          {{"epoch", context.epoch + 1},
                           {"step", trainer_->position().step},
                           {"metrics", ToJson(context.scores)},
                           {"learning_rates", rates},
                           {"seconds", context.seconds},
                           {"data_wait_seconds", context.data_wait_seconds},
                           {"samples_per_second", context.samples_per_second}});
}

template <class Runner>
void ProgressReporter::AttachToRunner(Runner& runner) {
  runner.on_epoch_start.Bind(
      [this](engine::RunnerContext& context) { Begin(context); });
  runner.on_post_step.Bind(
      [this](engine::RunnerContext& context) { Step(context); });
}

void ProgressReporter::AttachToTraining(engine::TrainingRunner& runner) {
  AttachToRunner(runner);
}

void ProgressReporter::AttachToValidation(engine::ValidationRunner& runner) {
  AttachToRunner(runner);
}

void ProgressReporter::AttachToGan(engine::GanTrainingRunner& runner) {
  AttachToRunner(runner);
}

void ProgressReporter::AttachToPrediction(engine::PredictionRunner& runner) {
  AttachToRunner(runner);
}

void ProgressReporter::Begin(const engine::RunnerContext& context) {
  if (trainer_ == nullptr || !trainer_->is_main_rank()) return;
  pass_began_ = Clock::now();
  pass_samples_ = 0;
  if (context.phase != "train") return;
  trainer_->events().Emit("epoch_started", {{"epoch", context.epoch + 1}});
}

void ProgressReporter::Step(const engine::RunnerContext& context) {
  if (trainer_ == nullptr) return;
  if (!told_first_step_ && context.phase == "train") {
    told_first_step_ = true;
    trainer_->events().Emit("first_step", {{"step", context.step}});
  }
  if (!trainer_->is_main_rank()) return;
  pass_samples_ += context.samples;
  const Clock::time_point now = Clock::now();
  // The last batch of a pass is not told of: its end is.
  if (now < next_) return;
  next_ = now + options_.interval;
  const std::chrono::duration<double> lasted = now - pass_began_;
  // Without training there are no epochs.
  const bool trains = trainer_->trains();
  Json progress = {{"epoch", trains ? context.epoch + 1 : 0},
                   {"total_epochs", trains ? Known(trainer_->epochs()) : 0},
                   {"phase", context.phase},
                   {"batch", context.batch + 1},
                   {"batches", Known(context.num_batches)},
                   {"step", context.step}};
  if (context.loss.defined()) {
    progress["loss"] = FromNumber(engine::ReadScalar(context.loss));
  }
  const int world = trainer_->environment().communicator->world_size();
  progress["samples_per_second"] =
      lasted.count() > 0
          ? static_cast<double>(pass_samples_ * world) / lasted.count()
          : 0;
  trainer_->events().Emit("progress", std::move(progress));
}

engine::Entry<engine::Hook> ProgressReporterEntry() {
  return {{.kind = "hook",
           .name = "ProgressReporter",
           .aliases = {"ProgressBar", "TQDMProgressBar"},
           .help = "tells how far the run is; always there, of all passes, "
                   "once",
           .parameters = {{.name = "interval",
                           .type = "float",
                           .default_value = 0.25,
                           .min = 0.25,
                           .max = 60,
                           .help = "seconds between two events of progress"},
                          {.name = "name",
                           .type = "string",
                           .help = "not used: each pass goes by its name"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<ProgressReporter>(ProgressReporter::Options{
                .interval = std::chrono::milliseconds(
                    static_cast<int64_t>(params.Float("interval") * 1000))});
          }};
}

}  // namespace epochd::hooks
