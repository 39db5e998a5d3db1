// SPDX-License-Identifier: Apache-2.0
#include "hooks/early_stopping.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "catalogue/parameters.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/core/error.h"
#include "worker/engine/core/number.h"
#include "worker/engine/core/scalar.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {

namespace {

constexpr char kBest[] = "hook.early_stopping.best.";

}  // namespace

const std::string& EarlyStopping::MetricName(
    const engine::Trainer& trainer) const {
  return options_.metric.empty() ? trainer.monitor().metric : options_.metric;
}

std::optional<double> EarlyStopping::Value(
    const engine::TrainerContext& context) {
  const std::string& metric = MetricName(*context.trainer);
  if (!context.IsMeasured(metric)) return {};
  if (options_.metric.empty()) return context.monitored;
  const double* value = engine::FindScore(context.scores, metric);
  if (value != nullptr) return *value;
  std::string known;
  for (const auto& [name, ignored] : context.scores) {
    known += (known.empty() ? "" : ", ") + name;
  }
  const std::string problem = "EarlyStopping: metric \"" + metric +
                              "\" is not measured; there are " + known;
  if (options_.strict)
    throw engine::Error(engine::ErrorKind::kBadSpec, problem);
  if (!warned_) context.trainer->events().Notice("warning", problem);
  warned_ = true;
  return {};
}

void EarlyStopping::AfterEpoch(engine::TrainerContext& context) {
  const std::optional<double> value = Value(context);
  if (!value) return;
  if (options_.restore_best) KeepBest(context, *value);
  if (!rule_.Observe(*value)) return;
  const int64_t done = context.epoch + (context.is_mid_epoch ? 0 : 1);
  if (done < options_.min_epochs) return;
  context.stop = true;
  context.stop_reason = MetricName(*context.trainer) + " " + rule_.reason();
}

void EarlyStopping::KeepBest(const engine::TrainerContext& context,
                             double value) {
  const bool is_better =
      !std::isnan(value) &&
      (std::isnan(best_.value) ||
       (rule_.options().higher_is_better ? value > best_.value
                                         : value < best_.value));
  if (!is_better) return;
  const c10::NoGradGuard no_grad;
  best_.value = value;
  best_.epoch = context.epoch;
  best_.scores = context.scores;
  best_.weights.clear();
  engine::Model& model = context.trainer->model();
  for (const auto& tensors : {model.Parameters(), model.Buffers()}) {
    for (const engine::NamedTensor& each : tensors) {
      best_.weights.push_back(
          {each.name, each.tensor.detach().to(at::kCPU, /*non_blocking=*/false,
                                              /*copy=*/true)});
    }
  }
}

void EarlyStopping::RestoreBest(engine::TrainerContext& context) {
  if (best_.weights.empty()) return;
  engine::LoadModel(context.trainer->model(), std::exchange(best_.weights, {}));
  // What is saved from now on is of these weights.
  context.scores = best_.scores;
  const engine::Monitor& monitor = context.trainer->monitor();
  context.monitored.reset();
  if (const double* value = engine::FindScore(best_.scores, monitor.metric)) {
    context.monitored = *value;
  }
  if (best_.epoch != monitor.best_epoch && context.is_best) {
    context.trainer->events().Notice(
        "warning", "EarlyStopping: epoch " +
                       std::to_string(monitor.best_epoch + 1) +
                       ", the last, is the best by " + monitor.metric +
                       ", but restore_best by " + MetricName(*context.trainer) +
                       " takes its place; no checkpoint has its weights");
  }
  context.is_best = context.is_best && best_.epoch == monitor.best_epoch;
  context.trainer->events().Notice(
      "info", "EarlyStopping: the weights are those of epoch " +
                  std::to_string(best_.epoch + 1) + ", the best by " +
                  MetricName(*context.trainer));
}

void EarlyStopping::AttachRestoring(engine::Trainer& trainer) {
  // Before what saves.
  trainer.on_epoch_committed.Bind(
      [this](engine::TrainerContext& context) {
        if (context.ending && !context.trainer->is_stopping()) {
          RestoreBest(context);
        }
      },
      engine::kHighestPriority);
  trainer.on_training_ended.Bind(
      [this](engine::TrainerContext& context) { RestoreBest(context); },
      engine::kHighestPriority);
  trainer.on_before_save.Bind([this](engine::SnapshotContext& context) {
    for (const engine::NamedTensor& each : best_.weights) {
      context.snapshot->state.push_back({kBest + each.name, each.tensor});
    }
  });
  trainer.on_after_load.Bind([this](engine::SnapshotContext& context) {
    best_.weights.clear();
    std::erase_if(context.snapshot->state, [this](auto& each) {
      if (!each.name.starts_with(kBest)) return false;
      best_.weights.push_back(
          {each.name.substr(sizeof(kBest) - 1), each.tensor.clone()});
      return true;
    });
  });
}

void EarlyStopping::Setup(engine::Trainer& trainer) {
  if (!options_.restore_best) return;
  for (const char* other : {"EMA", "SWA"}) {
    if (!trainer.HasHook(other)) continue;
    throw engine::Error(engine::ErrorKind::kBadSpec,
                        std::string("EarlyStopping: restore_best beside ") +
                            other +
                            ", whose averages are what was measured; the best "
                            "checkpoint holds them");
  }
}

nlohmann::ordered_json EarlyStopping::State() const {
  nlohmann::ordered_json state = rule_.State();
  if (best_.weights.empty()) return state;
  auto scores = nlohmann::ordered_json::object();
  for (const auto& [name, value] : best_.scores) {
    scores[name] = engine::FromNumber(value);
  }
  state["best_weights"] = {{"value", engine::FromNumber(best_.value)},
                           {"epoch", best_.epoch},
                           {"scores", std::move(scores)}};
  return state;
}

void EarlyStopping::LoadState(const nlohmann::ordered_json& state) {
  rule_.LoadState(state);
  const auto best = state.find("best_weights");
  if (best == state.end() || !options_.restore_best) return;
  best_.value = engine::ToNumber(best->at("value"));
  best_.epoch = best->at("epoch").get<int64_t>();
  best_.scores.clear();
  for (const auto& [name, value] : best->at("scores").items()) {
    best_.scores.emplace_back(name, engine::ToNumber(value));
  }
}

void EarlyStopping::AttachToTrainer(engine::Trainer& trainer) {
  communicator_ = trainer.environment().communicator;
  if (options_.metric.empty() && !options_.every_steps) {
    StopRule::Options rule = options_.rule;
    rule.higher_is_better = trainer.monitor().higher_is_better;
    rule_ = StopRule(rule);
  }
  if (options_.every_steps) return;
  trainer.on_stop_check.Bind(
      [this](engine::TrainerContext& context) { AfterEpoch(context); });
  if (options_.restore_best) AttachRestoring(trainer);
}

void EarlyStopping::CheckStepMetric(
    std::initializer_list<const char*> known) const {
  if (options_.metric.empty()) return;
  std::string names;
  for (const char* name : known) {
    if (options_.metric == name) return;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw engine::Error(engine::ErrorKind::kBadSpec,
                      "EarlyStopping: metric \"" + options_.metric +
                          "\" is not known at a step of this runner; " + names +
                          " is accepted");
}

void EarlyStopping::AttachToTraining(engine::TrainingRunner& runner) {
  if (!options_.every_steps) return;
  CheckStepMetric({"train/loss"});
  runner.on_post_step.Bind([this](engine::RunnerContext& context) {
    AfterStep(context, context.loss.defined() ? &context.loss : nullptr,
              "train/loss");
  });
}

void EarlyStopping::AttachToGan(engine::GanTrainingRunner& runner) {
  if (!options_.every_steps) return;
  CheckStepMetric({"train/g_loss", "train/d_loss"});
  runner.on_post_step.Bind([this](engine::GanContext& context) {
    const bool is_d = options_.metric == "train/d_loss";
    AfterStep(context,
              engine::FindLoss(context.losses, is_d ? "d_loss" : "g_loss"),
              is_d ? "train/d_loss" : "train/g_loss");
  });
}

void EarlyStopping::AfterStep(engine::RunnerContext& context,
                              const at::Tensor* loss, const std::string& name) {
  if (loss == nullptr || !context.stepped ||
      context.step % *options_.every_steps != 0) {
    return;
  }
  // All ranks see the same, and count alike.
  at::Tensor sum = at::tensor({engine::ReadScalar(*loss)}, at::kDouble);
  communicator_->AllReduceSum(sum);
  const double value = sum.item<double>() / communicator_->world_size();
  const bool is_last = context.batch + 1 == context.num_batches;
  const int64_t done = context.epoch + (is_last ? 1 : 0);
  if (!rule_.Observe(value) || done < options_.min_epochs) return;
  context.stop = true;
  if (context.stop_reason.empty()) {
    context.stop_reason = name + " " + rule_.reason();
  }
}

namespace {

// The names of the rules that are none of `some`.
std::vector<catalogue::Json> RulesBut(const std::vector<std::string>& some) {
  std::vector<catalogue::Json> names;
  for (const std::string& name : StopRule::Names()) {
    if (std::find(some.begin(), some.end(), name) == some.end()) {
      names.emplace_back(name);
    }
  }
  return names;
}

std::vector<catalogue::Rule> StopRules() {
  using Check = catalogue::Rule::Check;
  return {{.check = Check::kAbsent,
           .of = {"stopping_threshold"},
           .when = {{"rule", RulesBut({"mmengine", "lightning"})}}},
          {.check = Check::kAbsent,
           .of = {"baseline"},
           .when = {{"rule", RulesBut({"keras"})}}},
          // experiment.monitor has its own.
          {.check = Check::kNeeds, .of = {"mode", "metric"}}};
}

// What both hooks say of a rule.
EarlyStopping::Options ReadRule(const engine::Params& params,
                                StopRule::Kind kind) {
  EarlyStopping::Options options;
  StopRule::Options& rule = options.rule;
  rule.kind = kind;
  rule.patience = params.Int("patience");
  rule.min_delta =
      params.OptionalFloat("min_delta").value_or(StopRule::MinDelta(kind));
  rule.check_finite = params.Has("check_finite") ? params.Bool("check_finite")
                                                 : StopRule::ChecksFinite(kind);
  rule.threshold = params.OptionalFloat("stopping_threshold");
  options.strict = params.Bool("strict");
  return options;
}

EarlyStopping::Options ReadStopOptions(const engine::Params& params) {
  EarlyStopping::Options options =
      ReadRule(params, StopRule::KindOf(params.String("rule")));
  StopRule::Options& rule = options.rule;
  rule.baseline = params.OptionalFloat("baseline");
  options.metric = params.OptionalString("metric").value_or("");
  rule.higher_is_better = params.Has("mode")
                              ? params.String("mode") == "max"
                              : params.IsBetterHigher(options.metric);
  options.min_epochs = params.Int("min_epochs");
  options.restore_best = params.Bool("restore_best");
  const std::string text = params.String("every");
  const auto every = catalogue::ParseEvery(text);
  if (every->epochs.value_or(1) != 1) {
    params.Fail("every", "\"" + text + "\"; 1 epoch or n steps are accepted");
  }
  options.every_steps = every->steps;
  if (every->steps && !options.metric.empty() &&
      options.metric != "train/loss" && options.metric != "train/g_loss" &&
      options.metric != "train/d_loss") {
    params.Fail("metric", "\"" + options.metric +
                              "\" is not known at a step; train/loss is, and "
                              "of a GAN train/g_loss and train/d_loss");
  }
  if (every->steps && options.restore_best) {
    params.Fail("restore_best",
                "true, but the loss of one step says little of its weights; "
                "every: 1 epoch is accepted with it");
  }
  if (every->steps && options.metric.empty()) rule.higher_is_better = false;
  return options;
}

}  // namespace

engine::Entry<engine::Hook> EarlyStoppingEntry() {
  return {{.kind = "hook",
           .name = "EarlyStopping",
           .aliases = {"ValidationLossDidNotImprove"},
           .help = "ends the training when a score stalls",
           .parameters =
               {{.name = "rule",
                 .type = "string",
                 .default_value = "srforge",
                 .choices = StopRule::Names(),
                 .help = "whose meaning of patience and min_delta holds; "
                         "docs/hooks.md compares them"},
                {.name = "patience",
                 .type = "int",
                 .required = true,
                 .min = 0,
                 .help = "how long it may stall, by the rule"},
                {.name = "min_delta",
                 .type = "float",
                 .min = 0,
                 .help = "a gain, or a tolerance, by the rule; 0, and 0.1 for "
                         "mmengine"},
                {.name = "metric",
                 .type = "score",
                 .help = "score looked at; experiment.monitor by default"},
                {.name = "mode",
                 .type = "string",
                 .choices = {"min", "max"},
                 .help = "which way `metric` gets better; as it says itself by "
                         "default"},
                {.name = "every",
                 .type = "every",
                 .default_value = "1 epoch",
                 .choices = {"epochs", "steps"},
                 .help = "1 epoch, or n steps for the loss of a step, of a GAN "
                         "the generator's"},
                {.name = "min_epochs",
                 .type = "int",
                 .default_value = 0,
                 .min = 0,
                 .help = "never stops before so many"},
                {.name = "check_finite",
                 .type = "bool",
                 .help = "stop when the score is NaN or infinite; by default "
                         "for mmengine and lightning"},
                {.name = "stopping_threshold",
                 .type = "float",
                 .help = "stop when the score is better (mmengine, lightning)"},
                {.name = "baseline",
                 .type = "float",
                 .help = "what must be beaten to wait anew (keras)"},
                {.name = "restore_best",
                 .type = "bool",
                 .default_value = false,
                 .aliases = {"restore_best_weights"},
                 .help = "when the training is done, the model and the last "
                         "checkpoint have the weights of the best value"},
                {.name = "strict",
                 .type = "bool",
                 .default_value = false,
                 .help = "a score that is not measured is an error"}},
           .rules = StopRules()},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<EarlyStopping>(ReadStopOptions(params));
          }};
}

engine::Entry<engine::Hook> EarlyStoppingHookEntry() {
  catalogue::Component hook{
      .kind = "hook",
      .name = "EarlyStoppingHook",
      .help = "EarlyStopping with MMEngine's rule and by its names",
      .parameters = {{.name = "monitor",
                      .type = "score",
                      .required = true,
                      .help = "score looked at, such as val/accuracy"},
                     {.name = "rule",
                      .type = "string",
                      .choices = {"greater", "less"},
                      .help = "which way it gets better; as it says itself by "
                              "default"}}};
  const catalogue::Component ours = EarlyStoppingEntry().component;
  // By name, with MMEngine's defaults.
  const std::pair<const char*, catalogue::Json> shared[] = {
      {"min_delta", 0.1},
      {"patience", 5},
      {"check_finite", true},
      {"stopping_threshold", nullptr},
      {"strict", false}};
  for (const auto& [name, default_value] : shared) {
    catalogue::Parameter parameter = *catalogue::FindParameter(ours, name);
    parameter.required = false;
    parameter.default_value = default_value;
    hook.parameters.push_back(std::move(parameter));
  }
  return {std::move(hook),
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            auto options = ReadRule(params, StopRule::Kind::kMmEngine);
            options.metric = params.String("monitor");
            options.rule.higher_is_better =
                params.Has("rule") ? params.String("rule") == "greater"
                                   : params.IsBetterHigher(options.metric);
            return std::make_shared<EarlyStopping>(std::move(options));
          }};
}

}  // namespace epochd::hooks
