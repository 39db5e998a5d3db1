// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/trainer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/number.h"

namespace epochd::engine {

Trainer::Trainer(Parts parts, RunEnvironment environment)
    : parts_(std::move(parts)),
      environment_(std::move(environment)),
      agreement_(*environment_.communicator) {
  parts_.training_runner->CheckModel(*parts_.model);
  if (parts_.training_runner->needs_criterion() && parts_.criterion.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "experiment.loss: missing; this runner needs a loss");
  }
  if (parts_.val && parts_.val_criterion.empty() && parts_.metrics.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "experiment.data.val: there is neither a loss nor a metric to "
                "validate by");
  }
  if (parts_.train) {
    parts_.schedules.Bind(
        parts_.training_runner->Optimizers(), PlannedLength(),
        [this](const std::string& text) { events().Notice("warning", text); });
  }
  context_.trainer = this;
  context_.total_epochs = parts_.epochs;
  if (Hook* own = parts_.model->own_hook()) {
    own->set_priority(kLowestPriority + 1);
    AddHook(std::shared_ptr<Hook>(parts_.model, own));
  }
}

Trainer::~Trainer() {
  // Of a run that was set up and never ran.
  EndHooks(RunResult::kFailed, nullptr);
}

RunLength Trainer::PlannedLength() const {
  RunLength length{.epochs = parts_.epochs};
  const int64_t batches = parts_.train->NumBatches();
  length.batches_per_epoch = batches;
  length.batches = batches * parts_.epochs;
  length.steps = parts_.training_runner->StepsOf(batches, parts_.epochs);
  return length;
}

void Trainer::AdoptHook(std::shared_ptr<Hook> hook) {
  std::string name = hook->name();
  int number = 1;
  for (const NamedHook& each : hooks_) {
    if (each.hook == hook) return;
    if (each.name == name || each.name.starts_with(name + "#")) ++number;
  }
  if (number > 1) name += "#" + std::to_string(number);
  const auto place =
      std::upper_bound(hooks_.begin(), hooks_.end(), hook->priority(),
                       [](int priority, const NamedHook& other) {
                         return priority < other.hook->priority();
                       });
  hooks_.insert(place, {std::move(name), std::move(hook)});
}

void Trainer::AddHook(std::shared_ptr<Hook> hook) {
  {
    const BindingPriority priority(hook->priority());
    hook->AttachToTrainer(*this);
  }
  if (hook->IsInScope("train")) parts_.training_runner->Attach(*hook);
  if (hook->IsInScope("val")) parts_.validation_runner->Attach(*hook);
  AdoptHook(std::move(hook));
}

void Trainer::SetUpHooks() {
  for (const NamedHook& each : hooks_) {
    each.hook->Setup(*this);
    set_up_.push_back(each.hook);
  }
}

void Trainer::EndHooks(RunResult result, const std::exception* cause) {
  const auto hooks = std::exchange(set_up_, {});
  // One hook's trouble does not keep the others from closing what they have.
  const auto each = [&](const auto& call) {
    for (const std::shared_ptr<Hook>& hook : hooks) {
      try {
        call(*hook);
      } catch (const std::exception& error) {
        environment_.events->Notice(
            "warning", std::string(hook->name()) +
                           ": at the end of the run: " + error.what());
      }
    }
  };
  if (cause != nullptr) {
    each([&](Hook& hook) { hook.OnException(context_, *cause); });
  }
  each([&](Hook& hook) { hook.Finalize(context_, result); });
  each([&](Hook& hook) { hook.Teardown(*this); });
}

void Trainer::Guard(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    EndHooks(RunResult::kFailed, &error);
    throw;
  }
}

void Trainer::Start() {
  Guard([this] {
    SetUpHooks();
    Begin();
  });
}

void Trainer::Restore(const Snapshot& snapshot) {
  Guard([&] {
    SetUpHooks();
    GoOnFrom(snapshot);
  });
}

Trainer::Outcome Trainer::Run() {
  Outcome outcome = Outcome::kCompleted;
  Guard([&] { outcome = RunLoop(); });
  if (outcome == Outcome::kCompleted) {
    EndHooks(RunResult::kSuccess, nullptr);
    return outcome;
  }
  if (interrupt_requested_) outcome = Outcome::kInterrupted;
  const Interruption interruption(
      outcome == Outcome::kInterrupted ? "interrupted" : "stopped on request");
  EndHooks(RunResult::kInterrupted, &interruption);
  return outcome;
}

Trainer::Outcome Trainer::RunLoop() {
  context_.epoch = context_.initial_epoch = position_.epoch;
  context_.initial_batch = position_.batch;
  on_training_began.Fire(context_);

  while (position_.epoch < parts_.epochs && !is_finished_) {
    context_.epoch = position_.epoch;
    context_.scores.clear();
    context_.is_best = context_.stop = false;
    on_epoch_started.Fire(context_);
    if (!Train()) {
      if (!is_finished_) return Leave(context_);
      break;
    }
    context_.scores = Reduce(train_meter_, "train/");
    if (parts_.val && !Validate("val")) return Leave(context_);
    Judge(context_);
    context_.was_validated = true;
    on_epoch_finished.Fire(context_);
    parts_.schedules.AfterEpoch(
        {.scores = context_.scores, .monitored = context_.monitored});
    on_stop_check.Fire(context_);
    is_finished_ = context_.stop;
    stop_reason_ = context_.stop_reason;

    ++position_.epoch;
    position_.batch = 0;
    seconds_before_ = 0;
    train_meter_.Reset();
    const Agreement::Wishes agreed =
        agreement_.Now({.stop = stop_requested_,
                        .finish = hook_stop_.exchange(false),
                        .checkpoint = checkpoint_requested_.exchange(false)});
    is_finished_ |= agreed.finish;
    checkpoint_agreed_ = agreed.checkpoint;
    context_.ending = is_finished_ || position_.epoch == parts_.epochs;
    is_stopping_ = agreed.stop && !context_.ending;
    context_.ending |= is_stopping_;
    on_epoch_committed.Fire(context_);
    checkpoint_agreed_ = false;
    if (is_stopping_) return Outcome::kStopped;
  }
  context_.ending = true;
  on_training_ended.Fire(context_);
  environment_.communicator->Barrier();
  return Outcome::kCompleted;
}

Scores Trainer::Evaluate(const std::string& prefix) {
  if (parts_.val == nullptr) {
    throw Error(ErrorKind::kBadSpec,
                "experiment.data." + prefix + ": missing; this task needs it");
  }
  Guard([&] {
    PrepareSync(nullptr);
    SetUpHooks();
    context_.scores.clear();
    if (!Validate(prefix)) is_stopping_ = true;
  });
  if (!is_stopping_) {
    EndHooks(RunResult::kSuccess, nullptr);
    return context_.scores;
  }
  const Interruption interruption("stopped on request");
  EndHooks(RunResult::kInterrupted, &interruption);
  return {};
}

bool Trainer::Train() {
  began_ = std::chrono::steady_clock::now();
  parts_.train->StartEpoch(position_.epoch, position_.batch);
  if (position_.batch == 0) messages_.BeginEpoch();
  parts_.criterion.SetEpoch(position_.epoch);
  EpochRun run = TrainingRun();
  left_early_ = false;
  parts_.training_runner->RunEpoch(run);
  const std::chrono::duration<double> lasted =
      std::chrono::steady_clock::now() - began_;
  context_.seconds = seconds_before_ + lasted.count();
  context_.samples_per_second =
      context_.seconds > 0
          ? static_cast<double>(parts_.train->NumSamples()) / context_.seconds
          : 0;
  return !left_early_;
}

EpochRun Trainer::TrainingRun() {
  return {.model = *parts_.model,
          .source = *parts_.train,
          .criterion = parts_.criterion,
          .meter = train_meter_,
          .position = position_,
          .control = *this,
          .sync = *sync_,
          .device = environment_.device,
          .phase = "train",
          .metrics = {}};
}

bool Trainer::Validate(const std::string& prefix) {
  on_validation_began.Fire(context_);
  sync_->SyncBuffers();
  parts_.val->StartEpoch(position_.epoch, 0);
  parts_.val_criterion.SetEpoch(position_.epoch);
  EpochRun run = TrainingRun();
  EpochRun val{.model = run.model,
               .source = *parts_.val,
               .criterion = parts_.val_criterion,
               .meter = val_meter_,
               .position = position_,
               .control = *this,
               .sync = *sync_,
               .device = environment_.device,
               .phase = prefix,
               .metrics = parts_.metrics};
  if (!parts_.validation_runner->RunEpoch(val)) return false;
  for (auto& score : Reduce(val_meter_, prefix + "/")) {
    context_.scores.push_back(score);
  }
  ReduceMetrics(prefix, context_.scores);
  on_validation_finished.Fire(context_);
  return true;
}

Scores Trainer::Reduce(const Meter& meter, const std::string& prefix) {
  at::Tensor totals = meter.Totals();
  environment_.communicator->AllReduceSum(totals);
  return meter.Means(totals, prefix);
}

void Trainer::ReduceMetrics(const std::string& prefix, Scores& scores) {
  if (parts_.metrics.empty()) return;
  std::vector<at::Tensor> sums;
  for (const auto& metric : parts_.metrics) sums.push_back(metric->Sums());
  at::Tensor all = at::cat(sums);
  environment_.communicator->AllReduceSum(all);
  int64_t offset = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t size = sums[i].numel();
    for (const auto& [name, value] :
         parts_.metrics[i]->Values(all.slice(0, offset, offset + size))) {
      scores.emplace_back(prefix + "/" + name, value);
    }
    offset += size;
  }
}

void Trainer::Judge(TrainerContext& context) {
  const double* value = FindScore(context.scores, parts_.monitor.metric);
  if (value == nullptr) {
    context.monitored.reset();
    // A side of a GAN may rest for a whole epoch, and then has no score.
    if (!parts_.training_runner->needs_criterion()) return;
    std::string known;
    for (const auto& [name, ignored] : context.scores) {
      known += (known.empty() ? "" : ", ") + name;
    }
    throw Error(ErrorKind::kBadSpec,
                "experiment.monitor.metric: \"" + parts_.monitor.metric +
                    "\" is not measured; there are " + known);
  }
  context.monitored = *value;
  context.is_best = parts_.monitor.Update(*value, context.epoch);
}

void Trainer::AfterBatch() { parts_.schedules.AfterBatch(); }

bool Trainer::AfterStep(bool hook_wants_stop) {
  if (hook_wants_stop) hook_stop_ = true;
  const Agreement::Wishes agreed = agreement_.AfterStep(
      {.stop = stop_requested_,
       .finish = hook_stop_,
       .checkpoint = checkpoint_requested_.exchange(false)});
  checkpoint_agreed_ = agreed.checkpoint;
  if (agreed.finish) {
    is_finished_ = true;
    stop_reason_ = "a hook asked for a stop";
  }
  if (agreed.finish || agreed.stop) {
    left_early_ = true;
    return true;
  }
  on_step_boundary.Fire(context_);
  checkpoint_agreed_ = false;
  return false;
}

bool Trainer::ShouldLeave() const {
  // Ranks must leave together, which takes a step's agreement.
  return environment_.communicator->world_size() == 1 && stop_requested_;
}

Trainer::Outcome Trainer::Leave(TrainerContext& context) {
  context.ending = is_stopping_ = true;
  checkpoint_agreed_ = true;
  on_step_boundary.Fire(context);
  checkpoint_agreed_ = false;
  return Outcome::kStopped;
}

bool Trainer::HasHook(std::string_view name) const {
  for (const NamedHook& each : hooks_) {
    if (each.name == name) return true;
  }
  return false;
}

}  // namespace epochd::engine
