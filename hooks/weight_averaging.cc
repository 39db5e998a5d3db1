// SPDX-License-Identifier: Apache-2.0
#include "hooks/weight_averaging.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

// Where the other weights stand in a checkpoint's state.
constexpr char kRaw[] = "hook.average.raw.";
constexpr char kAverage[] = "hook.average.average.";

std::vector<at::Tensor> Handles(const std::vector<engine::NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(named.size());
  for (const engine::NamedTensor& each : named) tensors.push_back(each.tensor);
  return tensors;
}

// nullptr: there is none.
engine::NamedTensor* FindTensor(std::vector<engine::NamedTensor>& named,
                                const std::string& name) {
  auto found = std::find_if(
      named.begin(), named.end(),
      [&](const engine::NamedTensor& each) { return each.name == name; });
  return found == named.end() ? nullptr : &*found;
}

}  // namespace

double WeightAveraging::MomentumOf(int64_t n) const {
  const auto count = static_cast<double>(n);
  switch (options_.kind) {
    case Kind::kAnnealing:
      return std::max(options_.momentum,
                      options_.gamma / (options_.gamma + count));
    case Kind::kWarmup:
      return std::max(options_.momentum, 1 - (1 + count) / (10 + count));
    case Kind::kSwa:
      return 1 / static_cast<double>(n / options_.interval + 1);
    case Kind::kEma:
      break;
  }
  return options_.momentum;
}

void WeightAveraging::AttachToTrainer(engine::Trainer& trainer) {
  for (const char* other : {"EMA", "SWA"}) {
    if (trainer.HasHook(other)) {
      throw engine::Error(engine::ErrorKind::kBadSpec,
                          std::string("hooks: ") + name() + " beside " + other +
                              "; one hook that averages weights is accepted");
    }
  }
  trainer_ = &trainer;
  live_ = trainer.model().Parameters();
  if (options_.average_buffers) {
    for (engine::NamedTensor& each : trainer.model().Buffers()) {
      if (each.tensor.is_floating_point()) live_.push_back(std::move(each));
    }
  }
  trainer.on_before_save.Bind([this](engine::SnapshotContext& context) {
    BeforeSave(*context.snapshot);
  });
  trainer.on_after_load.Bind([this](engine::SnapshotContext& context) {
    AfterLoad(*context.snapshot);
  });
  // A validation that was left early.
  trainer.on_step_boundary.Bind([this](engine::TrainerContext&) {
    if (is_swapped_) Swap();
  });
}

void WeightAveraging::AttachToTraining(engine::TrainingRunner& runner) {
  if (options_.at_epochs) {
    runner.on_epoch_end.Bind(
        [this](engine::RunnerContext& context) { AfterStep(context); });
  } else {
    runner.on_post_step.Bind(
        [this](engine::RunnerContext& context) { AfterStep(context); });
  }
}

void WeightAveraging::AttachToGan(engine::GanTrainingRunner& runner) {
  if (options_.at_epochs) {
    runner.on_epoch_end.Bind(
        [this](engine::GanContext& context) { AfterStep(context); });
  } else {
    runner.on_post_step.Bind(
        [this](engine::GanContext& context) { AfterStep(context); });
  }
}

void WeightAveraging::AfterStep(const engine::RunnerContext& context) {
  // Batches that only gather gradients change nothing.
  if (!options_.at_epochs && !context.stepped) return;
  if (options_.at_epochs) {
    // A run that ends within an epoch may go on with it: it counts when whole.
    // One that was stopped in the validation of an epoch comes to its end
    // again.
    if (context.batch + 1 < context.num_batches) return;
    if (std::exchange(updated_at_, context.global_batch) ==
        context.global_batch) {
      return;
    }
  }
  if (context.step < options_.begin_step ||
      context.epoch + 1 < options_.begin_epoch) {
    return;
  }
  Update();
}

void WeightAveraging::Update() {
  c10::NoGradGuard no_grad;
  if (average_.empty()) {
    for (const engine::NamedTensor& each : live_) {
      average_.push_back({each.name, each.tensor.detach().clone()});
    }
  } else if (updates_ % options_.interval == 0) {
    const std::vector<at::Tensor> average = Handles(average_);
    const std::vector<at::Tensor> live = Handles(live_);
    at::_foreach_lerp_(average, live, MomentumOf(updates_));
  }
  ++updates_;
}

void WeightAveraging::AttachToValidation(engine::ValidationRunner& runner) {
  if (!options_.validate) return;
  runner.on_epoch_start.Bind([this](engine::RunnerContext&) {
    if (average_.empty() || is_swapped_) return;
    Swap();
    // Each rank averaged its own.
    if (options_.average_buffers && trainer_ != nullptr) {
      trainer_->SyncBuffers();
    }
  });
  runner.on_epoch_end.Bind([this](engine::RunnerContext&) {
    if (is_swapped_) Swap();
  });
}

void WeightAveraging::Swap() {
  c10::NoGradGuard no_grad;
  for (size_t i = 0; i < live_.size(); ++i) {
    const at::Tensor held = live_[i].tensor.detach().clone();
    live_[i].tensor.copy_(average_[i].tensor);
    average_[i].tensor.copy_(held);
  }
  is_swapped_ = !is_swapped_;
}

void WeightAveraging::BeforeSave(engine::Snapshot& snapshot) {
  if (average_.empty()) return;
  if (is_swapped_) Swap();
  for (const engine::NamedTensor& each : average_) {
    engine::NamedTensor* saved = FindTensor(snapshot.model, each.name);
    if (saved == nullptr) continue;
    if (options_.save_average) {
      snapshot.state.push_back({kRaw + each.name, saved->tensor});
      saved->tensor = each.tensor;
    } else {
      snapshot.state.push_back({kAverage + each.name, each.tensor});
    }
  }
}

void WeightAveraging::AfterLoad(engine::Snapshot& snapshot) {
  average_.clear();
  for (const engine::NamedTensor& each : live_) {
    engine::NamedTensor* saved = FindTensor(snapshot.model, each.name);
    engine::NamedTensor* raw = FindTensor(snapshot.state, kRaw + each.name);
    engine::NamedTensor* mean =
        FindTensor(snapshot.state, kAverage + each.name);
    if (saved == nullptr || (raw == nullptr && mean == nullptr)) {
      average_.clear();  // saved before it began
      return;
    }
    const at::Tensor& average = raw != nullptr ? saved->tensor : mean->tensor;
    average_.push_back(
        {each.name, average.to(each.tensor.options(), /*non_blocking=*/false,
                               /*copy=*/true)});
    if (raw != nullptr) saved->tensor = raw->tensor;
  }
}

nlohmann::ordered_json WeightAveraging::State() const {
  return {{"updates", updates_}, {"updated_at", updated_at_}};
}

void WeightAveraging::LoadState(const nlohmann::ordered_json& state) {
  updates_ = state.value("updates", int64_t{0});
  updated_at_ = state.value("updated_at", int64_t{-1});
}

namespace {

using catalogue::Parameter;

WeightAveraging::Options ReadAveraging(const engine::Params& params) {
  WeightAveraging::Options options;
  options.begin_epoch = params.Int("begin_epoch");
  options.average_buffers = params.Bool("average_buffers");
  options.validate = params.Bool("validate");
  options.save_average = params.String("checkpoint") == "average";
  return options;
}

std::vector<Parameter> SharedParameters() {
  return {{.name = "begin_epoch",
           .type = "int",
           .default_value = 0,
           .min = 0,
           .help = "the first epoch whose weights count, from 1"},
          {.name = "average_buffers",
           .type = "bool",
           .default_value = false,
           .aliases = {"update_buffers"},
           .help = "average floating buffers too"},
          {.name = "validate",
           .type = "bool",
           .default_value = true,
           .help = "validation sees the average"},
          {.name = "checkpoint",
           .type = "string",
           .default_value = "average",
           .choices = {"average", "raw"},
           .help = "what checkpoints hold as the model's weights; the other "
                   "goes into their state"}};
}

std::shared_ptr<engine::Hook> MakeEma(const engine::Params& params) {
  WeightAveraging::Options options = ReadAveraging(params);
  const std::string kind = params.String("kind");
  options.kind = kind == "annealing" ? WeightAveraging::Kind::kAnnealing
                 : kind == "warmup"  ? WeightAveraging::Kind::kWarmup
                                     : WeightAveraging::Kind::kEma;
  if (params.Has("momentum")) options.momentum = params.Float("momentum");
  if (params.Has("decay")) options.momentum = 1 - params.Float("decay");
  options.gamma = params.Float("gamma");
  options.interval = params.Int("interval");
  options.begin_step = params.Int("begin_step");
  if (options.begin_step > 0 && options.begin_epoch > 0) {
    params.Fail("begin_step", "not together with begin_epoch");
  }
  return std::make_shared<WeightAveraging>(options);
}

std::shared_ptr<engine::Hook> MakeSwa(const engine::Params& params) {
  WeightAveraging::Options options = ReadAveraging(params);
  options.kind = WeightAveraging::Kind::kSwa;
  const auto every = catalogue::ParseEvery(params.String("every"));
  options.at_epochs = every->epochs.has_value();
  options.interval = every->epochs.value_or(every->steps.value_or(1));
  return std::make_shared<WeightAveraging>(options);
}

}  // namespace

engine::Entry<engine::Hook> EmaEntry() {
  engine::Entry<engine::Hook> entry{{.kind = "hook",
                                     .name = "EMA",
                                     .aliases = {"EMAHook"},
                                     .help = "keeps a moving average of the "
                                             "weights",
                                     .one_of = "average of weights"},
                                    &MakeEma};
  entry.component.parameters = {
      {.name = "kind",
       .type = "string",
       .default_value = "ema",
       .choices = {"ema", "annealing", "warmup"},
       .help = "how the momentum runs at first"},
      {.name = "momentum",
       .type = "float",
       .min = 0,
       .max = 1,
       .exclusive_min = true,
       .help = "weight of the new weights; 0.0002 without `decay`"},
      {.name = "decay",
       .type = "float",
       .min = 0,
       .max = 1,
       .help = "1 - momentum, for those who count so"},
      {.name = "gamma",
       .type = "float",
       .default_value = 100,
       .min = 0,
       .exclusive_min = true,
       .help = "of annealing"},
      {.name = "interval",
       .type = "int",
       .default_value = 1,
       .min = 1,
       .help = "steps between updates"},
      {.name = "begin_step",
       .type = "int",
       .default_value = 0,
       .min = 0,
       .aliases = {"begin_iter"},
       .help = "the first step whose weights count, from 1"}};
  for (Parameter& each : SharedParameters()) {
    entry.component.parameters.push_back(std::move(each));
  }
  entry.component.rules = {{.check = catalogue::Rule::Check::kAtMostOne,
                            .of = {"momentum", "decay"}}};
  return entry;
}

engine::Entry<engine::Hook> SwaEntry() {
  engine::Entry<engine::Hook> entry{
      {.kind = "hook",
       .name = "SWA",
       .help = "keeps the plain mean of weights of several epochs or steps",
       .one_of = "average of weights"},
      &MakeSwa};
  entry.component.parameters = {{.name = "every",
                                 .type = "every",
                                 .default_value = "1 epoch",
                                 .choices = {"epochs", "steps"},
                                 .help = "n epochs or n steps"}};
  for (Parameter& each : SharedParameters()) {
    entry.component.parameters.push_back(std::move(each));
  }
  return entry;
}

}  // namespace epochd::hooks
