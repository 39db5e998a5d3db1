// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/trainer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/core/scalar.h"
#include "worker/engine/loop/score_board.h"

namespace epochd::engine {
namespace {

// Leaves the default generator as it was.
class KeptGenerator {
 public:
  KeptGenerator()
      : generator_(at::globalContext().defaultGenerator(at::kCPU)),
        state_(generator_.get_state()) {}
  ~KeptGenerator() { generator_.set_state(state_); }
  KeptGenerator(const KeptGenerator&) = delete;
  KeptGenerator& operator=(const KeptGenerator&) = delete;

 private:
  at::Generator generator_;
  const at::Tensor state_;
};

int64_t PerEpoch(const BatchSource* source) {
  return source == nullptr ? kUnknownLength : source->NumBatches();
}

}  // namespace

Trainer::Trainer(Parts parts, RunEnvironment environment)
    : parts_(std::move(parts)),
      environment_(std::move(environment)),
      agreement_(*environment_.communicator),
      train_meter_(parts_.loss_mean, /*leaves_out=*/true),
      earlier_meter_(parts_.loss_mean, /*leaves_out=*/true),
      val_meter_(parts_.loss_mean),
      total_batches_(parts_.plan.TotalBatches(PerEpoch(parts_.train.get()))) {
  if (parts_.prediction_runner == nullptr) {
    parts_.prediction_runner = std::make_shared<PredictionRunner>();
  }
  Check();
  if (parts_.train) {
    parts_.schedules.Bind(
        parts_.training_runner->Optimizers(), PlannedLength(),
        [this](const std::string& text) { events().Notice("warning", text); });
  }
  context_.trainer = this;
  context_.total_epochs = epochs();
  if (Hook* own = parts_.model->own_hook()) {
    own->set_priority(kLowestPriority + 1);
    AddHook(std::shared_ptr<Hook>(parts_.model, own));
  }
}

void Trainer::Check() const {
  const auto refuse = [](const std::string& message) {
    throw Error(ErrorKind::kBadSpec, message);
  };
  parts_.training_runner->CheckModel(*parts_.model);
  std::vector<std::string> names = parts_.val_criterion.PartNames();
  if (!parts_.val_criterion.empty()) names.emplace_back("loss");
  for (const auto& metric : parts_.metrics) {
    const std::string& name = metric->name();
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      refuse("experiment.metrics: another metric or loss is called \"" + name +
             "\", too; a name of its own is needed");
    }
    names.push_back(name);
  }
  const bool trains_itself =
      dynamic_cast<SelfTraining*>(parts_.model.get()) != nullptr;
  if (parts_.train && parts_.training_runner->needs_criterion() &&
      parts_.criterion.empty() && !trains_itself) {
    refuse("experiment.loss: missing; this runner needs a loss");
  }
  if (parts_.val) {
    if (parts_.validation_runner->needs_criterion() &&
        parts_.val_criterion.empty() && parts_.metrics.empty()) {
      refuse(
          "experiment.data.val: there is neither a loss nor a metric to "
          "validate by");
    }
    if (parts_.val->NumBatches() == kEndless) {
      refuse(
          "experiment.data.val: never ends; a trainer's limit_val_batches is "
          "needed for it");
    }
  }
  if (parts_.predict && parts_.predict->NumBatches() == kEndless) {
    refuse(
        "experiment.data.predict: never ends; endless: false and a sampler "
        "that ends are accepted");
  }
  if (!parts_.train) return;
  const int64_t batches = parts_.train->NumBatches();
  if (batches == 0) {
    refuse("experiment.data.train: has no batch; training needs at least one");
  }
  const LoopPlan& plan = parts_.plan;
  if (!plan.has_end() && batches != kUnknownLength) {
    refuse(
        "experiment.trainer: without an end; epochs, max_iterations, max_steps "
        "or max_time is needed");
  }
  if (batches == kEndless && !plan.max_batches && !plan.max_steps &&
      !plan.max_seconds) {
    refuse(
        "experiment.data.train: never ends, so its epochs cannot be counted; "
        "max_iterations, max_steps, max_time or limit_train_batches is needed");
  }
  if (parts_.val && plan.validation.fraction && batches < 0) {
    refuse(
        "experiment.trainer.val_interval: a part of an epoch whose length is "
        "not known; a whole number is accepted");
  }
}

RunLength Trainer::PlannedLength() const {
  // Of the whole, wherever the run is.
  RunLength length;
  const LoopPlan& plan = parts_.plan;
  const int64_t per_epoch = parts_.train->NumBatches();
  if (per_epoch >= 0) length.batches_per_epoch = per_epoch;
  length.epochs = plan.max_epochs;
  int64_t batches = plan.TotalBatches(per_epoch);
  bool counts_epochs = !plan.max_batches;
  if (const auto& most = plan.max_steps) {
    const int64_t of_steps = BatchesOf(*most);
    if (batches < 0 || of_steps < batches) {
      batches = of_steps;
      counts_epochs = false;
    }
    length.steps = *most;
  }
  if (batches < 0) return length;
  length.batches = batches;
  length.steps = StepsOf(batches, /*closed=*/true);
  if (!counts_epochs && per_epoch > 0) {
    length.epochs = (batches + per_epoch - 1) / per_epoch;
  }
  return length;
}

int64_t Trainer::StepsOf(int64_t batches, bool closed) const {
  const int64_t per_epoch = parts_.train->NumBatches();
  const int64_t size = parts_.training_runner->batches_per_step();
  const auto groups = [size](int64_t number, bool all) {
    return (number + (all ? size - 1 : 0)) / size;
  };
  if (parts_.plan.groups_cross_epochs || per_epoch <= 0) {
    return groups(batches, closed);
  }
  return batches / per_epoch * groups(per_epoch, true) +
         groups(batches % per_epoch, closed);
}

int64_t Trainer::BatchesOf(int64_t steps) const {
  const int64_t per_epoch = parts_.train->NumBatches();
  const int64_t size = parts_.training_runner->batches_per_step();
  if (parts_.plan.groups_cross_epochs || per_epoch <= 0) return steps * size;
  const int64_t steps_per_epoch = (per_epoch + size - 1) / size;
  return steps / steps_per_epoch * per_epoch + steps % steps_per_epoch * size;
}

int64_t Trainer::epochs() const {
  const int64_t per_epoch = PerEpoch(parts_.train.get());
  if (parts_.plan.max_batches && per_epoch > 0) {
    // Those done may have had other batches.
    const int64_t left = parts_.plan.TotalBatches(per_epoch) -
                         position_.global_batch + position_.batch;
    return position_.epoch +
           std::max<int64_t>(0, (left + per_epoch - 1) / per_epoch);
  }
  return parts_.plan.max_epochs.value_or(-1);
}

std::optional<int64_t> Trainer::BatchesLeft() const {
  std::optional<int64_t> left;
  if (total_batches_ >= 0) left = total_batches_ - position_.global_batch;
  if (const auto& most = parts_.plan.max_steps) {
    const int64_t by_steps =
        (*most - position_.step) * parts_.training_runner->batches_per_step();
    left = std::min(left.value_or(by_steps), by_steps);
  }
  return left;
}

std::optional<double> Trainer::SecondsLeft() const {
  if (!parts_.plan.max_seconds) return std::nullopt;
  const std::chrono::duration<double> lasted =
      std::chrono::steady_clock::now() - began_;
  return *parts_.plan.max_seconds - training_seconds_ - lasted.count();
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
  if (parts_.train == nullptr) {
    throw Error(ErrorKind::kBadSpec,
                "there is no data to train on; Evaluate() and Predict() do "
                "without");
  }
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
  const LoopPlan& plan = parts_.plan;
  context_.epoch = context_.initial_epoch = position_.epoch;
  context_.initial_batch = position_.batch;
  SanityCheck();
  on_training_began.Fire(context_);

  // It was left in the validation at its end.
  if (!is_finished_ && IsAtLimit() && position_.batch > 0 && parts_.val &&
      plan.validation.at_end && validated_at_ != position_.global_batch) {
    verdict_ = Verdict::kFinish;
    if (!CloseEpoch(/*is_whole=*/false)) return Leave();
  }
  while (!is_finished_ && !IsAtLimit() &&
         !(plan.max_epochs && position_.epoch >= *plan.max_epochs)) {
    context_.epoch = position_.epoch;
    context_.scores.clear();
    context_.monitored.reset();
    context_.is_best = context_.stop = false;
    on_epoch_started.Fire(context_);
    const bool is_whole = Train();
    if (verdict_ == Verdict::kStop) return Leave();
    if (is_whole) CheckProgress();
    if (!CloseEpoch(is_whole)) return Leave();
    if (!is_whole) break;
    if (Commit()) return Outcome::kStopped;
  }
  CheckLoss();
  context_.ending = true;
  on_training_ended.Fire(context_);
  CheckWeights();
  environment_.communicator->Barrier();
  return Outcome::kCompleted;
}

void Trainer::CheckProgress() const {
  if (position_.batch > 0 || parts_.plan.max_epochs) return;
  throw Error(ErrorKind::kBadSpec,
              "experiment.data.train: has no batch in epoch " +
                  std::to_string(position_.epoch + 1) +
                  ", so that the run would never end; epochs of the trainer "
                  "count also such ones");
}

double Trainer::TrainingRate() const {
  at::Tensor samples = at::tensor({pass_samples_}, at::kLong);
  environment_.communicator->AllReduceSum(samples);
  const double seconds = pass_seconds_ - within_seconds_;
  return seconds > 0 ? samples.item<double>() / seconds : 0;
}

void Trainer::CheckLoss() const {
  for (const char* name : {"train/loss", "train/d_loss", "train/g_loss"}) {
    const double* value = FindScore(context_.scores, name);
    if (value == nullptr || std::isfinite(*value)) continue;
    throw Error(ErrorKind::kTraining,
                std::string(name) +
                    ": not a finite number at the end of the "
                    "training; what it made is of no use");
  }
}

void Trainer::CheckWeights() const {
  for (const auto& [ignored, optimizer] :
       parts_.training_runner->Optimizers()) {
    for (const NamedTensor& each : optimizer->parameters()) {
      if (IsFinite(each.tensor)) continue;
      throw Error(ErrorKind::kTraining,
                  "the weights \"" + each.name +
                      "\" are not finite at the end of the training; what it "
                      "made is of no use");
    }
  }
}

void Trainer::SanityCheck() {
  if (parts_.plan.sanity_batches <= 0 || !parts_.val ||
      position_.global_batch > 0) {
    return;
  }
  const KeptGenerator kept;
  parts_.val->StartEpoch(0, 0);
  EpochRun run = ValidationRun("val");
  run.max_batches = parts_.plan.sanity_batches;
  parts_.validation_runner->RunEpoch(run);
  val_meter_.Reset();
}

bool Trainer::Train() {
  began_ = std::chrono::steady_clock::now();
  verdict_ = Verdict::kGoOn;
  pass_samples_ = 0;
  pass_seconds_ = within_seconds_ = 0;
  const Skipped skipped =
      position_.batch > 0 ? parts_.train->skipped() : Skipped{};
  asks_at_steps_ = MayAnyRankStop();
  // One that was due when the run was left, and did not come to its end. With
  // the epoch's last batch it is that of its end.
  const int64_t batches = parts_.train->NumBatches();
  if (position_.batch > 0 && position_.batch != batches && IsValidationDue()) {
    if (!ValidateWithin()) {
      verdict_ = Verdict::kStop;
      return false;
    }
    if (AtStepBoundary() != Verdict::kGoOn) return false;
  }
  parts_.train->StartEpoch(position_.epoch, position_.batch);
  parts_.train->ContinueSkipped(skipped);
  if (position_.batch == 0) messages_.BeginEpoch();
  parts_.criterion.SetEpoch(position_.epoch);
  EpochRun run = TrainingRun();
  is_in_pass_ = true;
  const bool is_whole = parts_.training_runner->RunEpoch(run);
  is_in_pass_ = false;
  const std::chrono::duration<double> lasted =
      std::chrono::steady_clock::now() - began_;
  context_.seconds = seconds_before_ + lasted.count();
  context_.data_wait_seconds = data_wait_;
  training_seconds_ += lasted.count();
  pass_samples_ = run.num_samples;
  pass_seconds_ = lasted.count();
  return is_whole;
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
          .total_batches = total_batches_,
          .groups_cross_epochs = parts_.plan.groups_cross_epochs,
          .preprocessor = parts_.preprocessor.get(),
          .seed = parts_.seed,
          .rank = environment_.communicator->rank(),
          .data_wait = &data_wait_};
}

StepControl::Verdict Trainer::AfterBatch(const BatchEnd& end) {
  parts_.schedules.AfterBatch();
  context_.can_save = end.ends_group;
  const int64_t epochs_done = position_.epoch + (end.is_last ? 1 : 0);
  if (end.hook_wants_stop && !hook_stop_ &&
      epochs_done >= parts_.plan.min_epochs) {
    hook_stop_ = true;
    stop_reason_ =
        end.stop_reason.empty() ? "a hook asked for a stop" : end.stop_reason;
  }
  if (!end.is_last && !IsAtLimit() && IsValidationDue()) {
    ValidateWithin();
    parts_.model->SetTraining(true);
  }
  return end.ends_group || IsAtLimit() ? AtStepBoundary() : Verdict::kGoOn;
}

StepControl::Verdict Trainer::AtStepBoundary() {
  const Agreement::Wishes wishes{
      .stop = stop_requested_,
      .finish = hook_stop_ || IsTimeOver(),
      .checkpoint = checkpoint_requested_.exchange(false)};
  const Agreement::Wishes agreed = asks_now_ || asks_at_steps_
                                       ? agreement_.Now(wishes)
                                       : agreement_.AfterStep(wishes);
  asks_now_ = false;
  checkpoint_agreed_ = agreed.checkpoint;
  if (agreed.finish) {
    is_finished_ = true;
    ShareStopReason();
  }
  if (agreed.finish || IsAtLimit()) return verdict_ = Verdict::kFinish;
  if (agreed.stop) return verdict_ = Verdict::kStop;
  on_step_boundary.Fire(context_);
  checkpoint_agreed_ = context_.is_best = false;
  return Verdict::kGoOn;
}

bool Trainer::MayAnyRankStop() const {
  Communicator& communicator = *environment_.communicator;
  if (communicator.world_size() == 1) return false;
  at::Tensor ranks =
      at::tensor({int64_t{parts_.training_runner->may_stop()}}, at::kLong);
  communicator.AllReduceSum(ranks);
  return ranks.item<int64_t>() > 0;
}

void Trainer::ShareStopReason() {
  for (std::string& each : environment_.communicator->Gather(stop_reason_)) {
    if (each.empty()) continue;
    stop_reason_ = std::move(each);
    return;
  }
}

bool Trainer::IsAtLimit() const {
  const LoopPlan& plan = parts_.plan;
  return (plan.max_batches && position_.global_batch >= *plan.max_batches) ||
         (plan.max_steps && position_.step >= *plan.max_steps);
}

bool Trainer::IsTimeOver() {
  // Rank 0's clock is everybody's.
  if (!parts_.plan.max_seconds || !is_main_rank()) return false;
  if (*SecondsLeft() > 0) return false;
  is_time_over_ = true;
  stop_reason_ = "max_time is over";
  return true;
}

bool Trainer::ShouldLeave() const {
  // Ranks must leave together, which takes a step's agreement; and within a
  // group of batches there is no place to go on from.
  return environment_.communicator->world_size() == 1 && stop_requested_ &&
         context_.can_save;
}

bool Trainer::CloseEpoch(bool is_whole) {
  const ValidationPlan& plan = parts_.plan.validation;
  const int64_t done = position_.epoch + 1;
  const bool is_end =
      !is_whole || verdict_ == Verdict::kFinish || IsAtLimit() ||
      (parts_.plan.max_epochs && done >= *parts_.plan.max_epochs);
  const bool counts_batches = plan.unit == ValidationPlan::Unit::kBatches;
  const bool is_due = counts_batches || plan.fraction
                          ? IsValidationDue()
                          : is_whole && plan.IsDue(done);
  const bool validates = parts_.val && (is_due || (is_end && plan.at_end)) &&
                         validated_at_ != position_.global_batch;
  // It ends with a validation within the epoch: that is the last one.
  const bool was_just_validated =
      !is_whole && validated_at_ == position_.global_batch;
  const Scores just_measured =
      was_just_validated ? std::move(context_.scores) : Scores();
  context_.is_mid_epoch = false;
  context_.can_save = parts_.training_runner->can_save();
  context_.train_is_measured = validates || !parts_.val || !counts_batches;
  if (!was_just_validated) context_.monitored.reset();
  Meter epoch_meter = earlier_meter_;
  epoch_meter.Include(train_meter_);
  context_.scores =
      ReduceMeter(*environment_.communicator, epoch_meter, "train/");
  context_.samples_per_second = TrainingRate();
  TellSkipped("train", *parts_.train);
  TellSkippedSteps();
  if (validates && !Validate("val")) return false;
  for (const auto& [name, value] : just_measured) {
    if (FindScore(context_.scores, name) != nullptr) continue;
    context_.scores.emplace_back(name, value);
  }
  context_.was_validated =
      !parts_.val || ((validates || was_just_validated) && !was_empty_);
  if (!was_just_validated && !context_.monitored) {
    Judge(is_whole && context_.was_validated && position_.batch > 0);
  }
  on_epoch_finished.Fire(context_);
  if (!is_whole) {
    context_.is_mid_epoch = true;
    if (!was_just_validated) on_stop_check.Fire(context_);
    return true;
  }
  parts_.schedules.AfterEpoch({.scores = context_.scores,
                               .monitored = context_.monitored,
                               .is_complete = context_.was_validated,
                               .is_measured = context_.train_is_measured});
  if (AskStopConditions()) is_finished_ = true;
  return true;
}

bool Trainer::Commit() {
  ++position_.epoch;
  position_.batch = 0;
  seconds_before_ = data_wait_ = 0;
  train_meter_.Reset();
  earlier_meter_.Reset();
  const Agreement::Wishes agreed =
      agreement_.Now({.stop = stop_requested_,
                      .finish = is_finished_ || hook_stop_.exchange(false),
                      .checkpoint = checkpoint_requested_.exchange(false)});
  asks_now_ = false;
  is_finished_ = agreed.finish;
  if (is_finished_) ShareStopReason();
  checkpoint_agreed_ = agreed.checkpoint;
  const LoopPlan& plan = parts_.plan;
  context_.ending = is_finished_ || IsAtLimit() ||
                    (plan.max_epochs && position_.epoch >= *plan.max_epochs);
  context_.can_save = parts_.training_runner->can_save();
  // Within a group of accumulated batches there is no place to go on from: it
  // stops at the group's end.
  is_stopping_ = agreed.stop && !context_.ending && context_.can_save;
  context_.ending |= is_stopping_;
  on_epoch_committed.Fire(context_);
  checkpoint_agreed_ = context_.is_best = false;
  return is_stopping_;
}

Trainer::Outcome Trainer::Leave() {
  context_.ending = is_stopping_ = true;
  checkpoint_agreed_ = true;
  on_step_boundary.Fire(context_);
  checkpoint_agreed_ = false;
  return Outcome::kStopped;
}

}  // namespace epochd::engine
