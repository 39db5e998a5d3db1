// SPDX-License-Identifier: Apache-2.0
#include "hooks/early_stopping.h"

#include "worker/engine/core/error.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {

std::optional<double> EarlyStopping::Value(
    const engine::TrainerContext& context) {
  const std::string& metric = options_.metric.empty()
                                  ? context.trainer->monitor().metric
                                  : options_.metric;
  // Nothing new of a validation that was not.
  if (!metric.starts_with("train/") && !context.was_validated) return {};
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
  if (!value || !rule_.Observe(*value)) return;
  if (context.epoch + 1 < options_.min_epochs) return;
  context.stop = true;
  context.stop_reason =
      (options_.metric.empty() ? context.trainer->monitor().metric
                               : options_.metric) +
      " " + rule_.reason();
}

void EarlyStopping::AttachToTrainer(engine::Trainer& trainer) {
  if (options_.metric.empty()) {
    StopRule::Options rule = options_.rule;
    rule.higher_is_better = trainer.monitor().higher_is_better;
    rule_ = StopRule(rule);
  }
  if (options_.every_steps) return;
  trainer.on_stop_check.Bind(
      [this](engine::TrainerContext& context) { AfterEpoch(context); });
}

void EarlyStopping::AttachToTraining(engine::TrainingRunner& runner) {
  if (!options_.every_steps) return;
  runner.on_post_step.Bind([this](engine::RunnerContext& context) {
    if (!context.loss.defined() || context.step == 0 ||
        context.step % *options_.every_steps != 0) {
      return;
    }
    if (rule_.Observe(context.loss.item<double>()) &&
        context.epoch + 1 >= options_.min_epochs) {
      context.stop = true;
    }
  });
}

namespace {

// Refuses what the rule does not know.
void CheckRule(const engine::Params& params, StopRule::Kind kind,
               const std::string& name) {
  const bool has_threshold =
      kind == StopRule::Kind::kMmEngine || kind == StopRule::Kind::kLightning;
  if (params.Has("stopping_threshold") && !has_threshold) {
    params.Fail("stopping_threshold", "rule \"" + name +
                                          "\" has none; mmengine and "
                                          "lightning have");
  }
  if (params.Has("baseline") && kind != StopRule::Kind::kKeras) {
    params.Fail("baseline", "rule \"" + name + "\" has none; keras has");
  }
}

EarlyStopping::Options ReadStopOptions(const engine::Params& params) {
  EarlyStopping::Options options;
  const std::string name = params.String("rule");
  StopRule::Options& rule = options.rule;
  rule.kind = StopRule::KindOf(name);
  CheckRule(params, rule.kind, name);
  rule.patience = params.Int("patience");
  rule.min_delta =
      params.OptionalFloat("min_delta").value_or(StopRule::MinDelta(rule.kind));
  rule.check_finite = params.Has("check_finite")
                          ? params.Bool("check_finite")
                          : StopRule::ChecksFinite(rule.kind);
  rule.threshold = params.OptionalFloat("stopping_threshold");
  rule.baseline = params.OptionalFloat("baseline");
  options.metric = params.OptionalString("metric").value_or("");
  if (params.Has("mode") && options.metric.empty()) {
    params.Fail("mode", "only with `metric`; experiment.monitor has its own");
  }
  rule.higher_is_better =
      params.OptionalString("mode").value_or("min") == "max";
  options.min_epochs = params.Int("min_epochs");
  options.strict = params.Bool("strict");
  const std::string text = params.String("every");
  const auto every = catalogue::ParseEvery(text);
  if (!every || every->seconds || every->epochs.value_or(1) != 1) {
    params.Fail("every", "\"" + text + "\"; 1 epoch or n steps are accepted");
  }
  options.every_steps = every->steps;
  if (every->steps && !options.metric.empty() &&
      options.metric != "train/loss") {
    params.Fail("metric", "\"" + options.metric +
                              "\" is not known at a step; train/loss is");
  }
  if (every->steps && options.metric.empty()) options.metric = "train/loss";
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
                 .type = "string",
                 .help = "score looked at; experiment.monitor by default"},
                {.name = "mode",
                 .type = "string",
                 .choices = {"min", "max"},
                 .help = "which way `metric` gets better; min by default"},
                {.name = "every",
                 .type = "every",
                 .default_value = "1 epoch",
                 .help = "1 epoch, or n steps for the loss of a step"},
                {.name = "min_epochs",
                 .type = "int",
                 .default_value = 0,
                 .min = 0,
                 .help = "never stops before so many"},
                {.name = "check_finite",
                 .type = "bool",
                 .help = "stop when the score is NaN or infinite; true for "
                         "mmengine and lightning"},
                {.name = "stopping_threshold",
                 .type = "float",
                 .help = "stop when the score is better (mmengine, lightning)"},
                {.name = "baseline",
                 .type = "float",
                 .help = "what must be beaten to wait anew (keras)"},
                {.name = "strict",
                 .type = "bool",
                 .default_value = false,
                 .help = "a score that is not measured is an error"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<EarlyStopping>(ReadStopOptions(params));
          }};
}

}  // namespace epochd::hooks
