// SPDX-License-Identifier: Apache-2.0
//
// Trainer's measuring: validations, what they say of the run, predictions.
#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/loop/score_board.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::engine {

EpochRun Trainer::ValidationRun(const std::string& phase) {
  return {.model = *parts_.model,
          .source = *parts_.val,
          .criterion = parts_.val_criterion,
          .meter = val_meter_,
          .position = position_,
          .control = *this,
          .sync = *sync_,
          .device = environment_.device,
          .phase = phase,
          .metrics = parts_.metrics,
          .preprocessor = parts_.preprocessor.get(),
          .seed = parts_.seed,
          .rank = environment_.communicator->rank()};
}

void Trainer::TellSkipped(const std::string& part, const BatchSource& source) {
  const Skipped skipped = source.skipped();
  if (!skipped.is_allowed) return;
  if (skipped.samples > 0) {
    std::string text = "experiment.data." + part + ": " +
                       std::to_string(skipped.samples) +
                       " samples could not be read and were left out: ";
    for (const std::string& problem : skipped.problems) text += problem + "; ";
    const auto untold =
        skipped.samples - static_cast<int64_t>(skipped.problems.size());
    text += untold > 0 ? "and " + std::to_string(untold) + " more" : "no more";
    events().Notice("warning", text);
  }
  at::Tensor samples = at::tensor({skipped.samples}, at::kLong);
  environment_.communicator->AllReduceSum(samples);
  context_.scores.emplace_back(part + "/skipped_samples",
                               samples.item<double>());
}

void Trainer::TellSkippedSteps() {
  // With fp16 ranks may differ in what they call a fault.
  int64_t steps = 0;
  for (const std::string& own : environment_.communicator->Gather(
           std::to_string(parts_.training_runner->num_skipped_steps()))) {
    steps = std::max<int64_t>(steps, std::stoll(own));
  }
  if (steps == 0) return;
  context_.scores.emplace_back("train/skipped_steps",
                               static_cast<double>(steps));
  // Again when they have doubled. A NanGuard tells each by itself.
  if (!is_main_rank() || steps < 2 * told_skipped_steps_ ||
      HasHook("NanGuard")) {
    return;
  }
  told_skipped_steps_ = steps;
  events().Notice(
      "warning",
      "gradients were not finite in " + std::to_string(steps) +
          (steps == 1 ? " step" : " steps") + " by epoch " +
          std::to_string(position_.epoch + 1) +
          ", which were left out (train/skipped_steps); their batches taught "
          "nothing: look for NaN in the data, or at the learning rate");
}

bool Trainer::IsValidationDue() const {
  if (!parts_.val || validated_at_ == position_.global_batch) return false;
  const ValidationPlan& plan = parts_.plan.validation;
  if (plan.fraction) {
    return plan.IsDueWithin(position_.batch, parts_.train->NumBatches(),
                            position_.epoch + 1);
  }
  return plan.unit == ValidationPlan::Unit::kBatches &&
         plan.IsDue(position_.global_batch);
}

bool Trainer::Validate(const std::string& phase) {
  on_validation_began.Fire(context_);
  sync_->SyncBuffers();
  parts_.val->StartEpoch(position_.epoch, 0);
  parts_.val_criterion.SetEpoch(position_.epoch);
  EpochRun run = ValidationRun(phase);
  if (!parts_.validation_runner->RunEpoch(run)) return false;
  validated_at_ = position_.global_batch;
  context_.tables.clear();
  Communicator& communicator = *environment_.communicator;
  at::Tensor samples = at::tensor({run.num_samples}, at::kLong);
  communicator.AllReduceSum(samples);
  was_empty_ = samples.item<int64_t>() == 0;
  if (!was_empty_) {
    const std::string prefix = phase + "/";
    for (auto& score : ReduceMeter(communicator, val_meter_, prefix)) {
      context_.scores.push_back(std::move(score));
    }
    ReduceMetrics(communicator, parts_.metrics, prefix, context_.scores,
                  context_.tables);
    TellDoubts();
  } else if (is_main_rank() && !told_empty_) {
    told_empty_ = true;
    events().Notice("warning", "experiment.data." + phase +
                                   ": has no sample; there are no scores of "
                                   "it, and what looks at them does not act");
  }
  TellSkipped(phase, *parts_.val);
  CheckScores();
  Judge(/*must_be_there=*/false);
  on_validation_finished.Fire(context_);
  return true;
}

void Trainer::TellDoubts() {
  if (std::exchange(told_doubts_, true)) return;
  // Each rank saw its own samples.
  Json own = Json::object();
  for (const auto& metric : parts_.metrics) {
    own[metric->name()] = metric->Doubt();
  }
  const std::vector<std::string> all =
      environment_.communicator->Gather(own.dump());
  if (!is_main_rank()) return;
  std::map<std::string, std::string> names;
  for (const auto& [name, doubt] : own.items()) {
    if (doubt == "" ||
        std::any_of(all.begin(), all.end(), [&](const auto& each) {
          return Json::parse(each).value(name, "") != doubt;
        })) {
      continue;
    }
    std::string& list = names[doubt.get<std::string>()];
    list += (list.empty() ? "" : ", ") + name;
  }
  for (const auto& [doubt, list] : names) {
    events().Notice("warning", "experiment.metrics: " + list + ": " + doubt);
  }
}

void Trainer::CheckScores() const {
  std::set<std::string_view> names;
  for (const auto& [name, ignored] : context_.scores) {
    if (names.insert(name).second) continue;
    throw Error(ErrorKind::kBadSpec,
                "score \"" + name +
                    "\": two losses, metrics or hooks give it; names of their "
                    "own are needed (name)");
  }
}

bool Trainer::ValidateWithin() {
  const auto began = std::chrono::steady_clock::now();
  context_.is_mid_epoch = true;
  context_.monitored.reset();
  context_.scores.clear();
  const bool counts_batches =
      parts_.plan.validation.unit == ValidationPlan::Unit::kBatches;
  context_.train_is_measured = counts_batches;
  if (counts_batches) {
    // Of the epoch's batches since the last validation.
    context_.scores =
        ReduceMeter(*environment_.communicator, train_meter_, "train/");
  }
  asks_now_ = true;
  // One that is left is done again, with the same scores of the batches.
  if (!Validate("val")) return false;
  if (counts_batches) {
    earlier_meter_.Include(train_meter_);
    train_meter_.Reset();
  }
  context_.was_validated = !was_empty_;
  parts_.schedules.AfterValidation(
      {.scores = context_.scores,
       .monitored = context_.monitored,
       .is_complete = counts_batches && !was_empty_});
  if (AskStopConditions()) hook_stop_ = true;
  const std::chrono::duration<double> lasted =
      std::chrono::steady_clock::now() - began;
  within_seconds_ += lasted.count();
  return true;
}

void Trainer::Judge(bool must_be_there) {
  const std::string& metric = parts_.monitor.metric;
  const double* value = FindScore(context_.scores, metric);
  if (value != nullptr) {
    if (metric.starts_with("train/") && !context_.train_is_measured) return;
    context_.monitored = *value;
    if (std::isnan(*value) && is_main_rank() &&
        !std::exchange(told_nan_, true)) {
      events().Notice("warning", "\"" + metric +
                                     "\", the monitored metric, is NaN after "
                                     "epoch " +
                                     std::to_string(context_.epoch + 1) +
                                     "; that is never the best");
    }
    // No checkpoint could hold it within a group of accumulated batches.
    if (parts_.training_runner->can_save()) {
      context_.is_best |= parts_.monitor.Update(*value, context_.epoch);
    }
    return;
  }
  // A side of a GAN may rest for a whole epoch, and then has no score; and an
  // empty validation has none.
  if (!must_be_there || was_empty_ ||
      !parts_.training_runner->needs_criterion()) {
    return;
  }
  std::string known;
  for (const auto& [name, ignored] : context_.scores) {
    known += (known.empty() ? "" : ", ") + name;
  }
  throw Error(ErrorKind::kBadSpec,
              "experiment.monitor.metric: \"" + parts_.monitor.metric +
                  "\" is not measured; there are " + known);
}

bool Trainer::AskStopConditions() {
  context_.stop = false;
  context_.stop_reason.clear();
  on_stop_check.Fire(context_);
  const int64_t done = position_.epoch + (context_.is_mid_epoch ? 0 : 1);
  if (done < parts_.plan.min_epochs) context_.stop = false;
  if (context_.stop && stop_reason_.empty()) {
    stop_reason_ = context_.stop_reason;
  }
  return context_.stop;
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
    on_evaluation_began.Fire(context_);
    const auto began = std::chrono::steady_clock::now();
    is_stopping_ = !Validate(prefix);
    if (is_stopping_) return;
    if (prefix == "benchmark") {
      const std::chrono::duration<double> lasted =
          std::chrono::steady_clock::now() - began;
      context_.AddScore("benchmark/seconds", lasted.count());
      context_.AddScore(
          "benchmark/samples_per_second",
          static_cast<double>(parts_.val->NumSamples()) / lasted.count());
    }
    on_evaluation_ended.Fire(context_);
  });
  if (!is_stopping_) {
    EndHooks(RunResult::kSuccess, nullptr);
    return context_.scores;
  }
  const Interruption interruption("stopped on request");
  EndHooks(RunResult::kInterrupted, &interruption);
  return {};
}

std::optional<PredictionRunner::Result> Trainer::Predict() {
  if (parts_.predict == nullptr) return std::nullopt;
  PredictionRunner::Result result;
  Guard([&] {
    PrepareSync(nullptr);
    SetUpHooks();
    PredictionContext context;
    context.phase = "predict";
    context.model = parts_.model.get();
    context.num_batches = parts_.predict->NumBatches();
    on_prediction_began.Fire(context);
    parts_.predict->StartEpoch(0, 0);
    EpochRun run{.model = *parts_.model,
                 .source = *parts_.predict,
                 .criterion = parts_.val_criterion,
                 .meter = val_meter_,
                 .position = position_,
                 .control = *this,
                 .sync = *sync_,
                 .device = environment_.device,
                 .phase = "predict",
                 .preprocessor = parts_.preprocessor.get(),
                 .seed = parts_.seed,
                 .rank = environment_.communicator->rank()};
    result = parts_.prediction_runner->RunEpoch(
        run, [this](PredictionRunner::Result& own) { JoinPredictions(own); });
    is_stopping_ = result.left_early;
    if (is_stopping_) return;
    TellSkipped("predict", *parts_.predict);
    if (result.num_batches == 0) {
      throw Error(ErrorKind::kBadSpec,
                  "experiment.data.predict: has no batch; at least one sample "
                  "is needed");
    }
    context.joined = result.joined;
    context.indices = result.indices;
    on_prediction_ended.Fire(context);
  });
  if (!is_stopping_) {
    EndHooks(RunResult::kSuccess, nullptr);
    return result;
  }
  const Interruption interruption("stopped on request");
  EndHooks(RunResult::kInterrupted, &interruption);
  return std::nullopt;
}

void Trainer::JoinPredictions(PredictionRunner::Result& own) const {
  Communicator& communicator = *environment_.communicator;
  if (communicator.world_size() == 1) return;
  std::vector<PredictionRunner::Result> parts;
  for (const std::string& bytes : communicator.Gather(ToBytes(own))) {
    parts.push_back(FromBytes(bytes));
  }
  own = JoinRanks(parts);
}

}  // namespace epochd::engine
