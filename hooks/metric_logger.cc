// SPDX-License-Identifier: Apache-2.0
#include "hooks/metric_logger.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <random>
#include <sstream>
#include <system_error>

#include "hooks/csv_cell.h"
#include "hooks/earlier_metrics.h"
#include "worker/engine/core/error.h"
#include "worker/engine/core/number.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

using engine::LogRule;
using engine::MessageHub;
using engine::ScalarHistory;

double WallTime() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Sixteen letters that no other run has.
std::string NewKey() {
  std::random_device source;
  char key[17];
  std::snprintf(key, sizeof(key), "%08x%08x", source(), source());
  return key;
}

// What the hub knows, by the rules of `options`.
engine::Scores StepScores(const MessageHub& hub,
                          const MetricLogger::Options& options) {
  engine::Scores scores;
  for (const auto& [name, history] : hub.all()) {
    const LogRule rule = engine::DefaultLogRule(name, options.window);
    scores.emplace_back(name, history.Get(rule.statistic, rule.window));
  }
  for (const LogRule& rule : options.statistics) {
    const ScalarHistory* history = hub.Find(rule.source);
    if (history == nullptr) continue;
    scores.emplace_back(rule.log_name,
                        history->Get(rule.statistic, rule.window));
  }
  return scores;
}

}  // namespace

std::string TableAsCsv(const engine::MetricTable& table) {
  std::ostringstream text;
  text << std::setprecision(17) << CsvCell(table.corner);
  for (const std::string& column : table.columns) {
    text << "," << CsvCell(column);
  }
  const at::Tensor whole = table.values.contiguous();
  const double* cell = whole.const_data_ptr<double>();
  for (const std::string& row : table.rows) {
    text << "\n" << CsvCell(row);
    for (size_t i = 0; i < table.columns.size(); ++i) text << "," << *cell++;
  }
  text << "\n";
  return text.str();
}

void MetricLogger::AttachToTrainer(engine::Trainer& trainer) {
  if (trainer.HasHook(name())) {
    throw engine::Error(engine::ErrorKind::kBadSpec,
                        "MetricLogger: there are two, which would write the "
                        "same files; one is accepted");
  }
  const std::string& output = trainer.environment().output_dir;
  if (!trainer.is_main_rank() || output.empty()) return;
  trainer_ = &trainer;
  if (options_.every_steps) {
    trainer.messages().Keep(options_.window);
    for (const LogRule& rule : options_.statistics) {
      trainer.messages().Keep(rule.window);
    }
  }
  trainer.on_validation_finished.Bind(
      [this](engine::TrainerContext& context) { AfterValidation(context); });
  trainer.on_training_began.Bind([this](engine::TrainerContext&) { Open(); });
  trainer.on_evaluation_began.Bind([this](engine::TrainerContext&) { Open(); });
  trainer.on_evaluation_ended.Bind([this](engine::TrainerContext& context) {
    Write({.epoch = 0, .step = 0, .scores = context.scores});
  });
  trainer.on_epoch_finished.Bind(
      [this](engine::TrainerContext& context) { AfterEpoch(context); });
}

void MetricLogger::WriteTables(const engine::TrainerContext& context) {
  for (const engine::MetricTable& table : context.tables) {
    std::string name = table.name;
    std::replace(name.begin(), name.end(), '/', '_');
    const std::string path =
        trainer_->environment().output_dir + "/" + name + ".csv";
    // Written aside, so that readers see whole tables.
    std::ofstream file(path + ".tmp", std::ios::trunc);
    file << TableAsCsv(table);
    file.close();
    std::error_code error;
    if (file) std::filesystem::rename(path + ".tmp", path, error);
    if (!file || error) {
      trainer_->events().Notice("warning", path + ": cannot be written");
      return;
    }
    if (tables_.insert(name).second) trainer_->AddOutput(name, path);
  }
}

void MetricLogger::Open() {
  const std::string& output = trainer_->environment().output_dir;
  if (options_.json) {
    trainer_->AddOutput("metrics", output + "/metrics.jsonl");
    writers_.push_back(MakeJsonLines(output));
  }
  if (options_.tensorboard) {
    trainer_->AddOutput("tensorboard", output + "/tensorboard");
    writers_.push_back(MakeTensorBoard(output));
  }
  CarryEarlierLines();
  if (!options_.mlflow.uri.empty()) {
    if (options_.mlflow.key.empty()) options_.mlflow.key = NewKey();
    writers_.push_back(std::make_unique<MlflowWriter>(options_.mlflow));
  }
}

void MetricLogger::CarryEarlierLines() {
  const std::filesystem::path checkpoint = trainer_->resumed_from();
  if (!options_.json || checkpoint.empty()) return;
  const std::string from =
      checkpoint.parent_path().parent_path() / "metrics.jsonl";
  const std::string output = trainer_->environment().output_dir;
  const std::string to = output + "/metrics.jsonl";
  // Event files of the same folder still hold them.
  std::error_code error;
  const bool is_same = std::filesystem::equivalent(from, to, error);
  MetricWriter* event_file =
      options_.tensorboard && !is_same ? writers_.back().get() : nullptr;
  const std::string problem =
      CarryOver(from, to, trainer_->position(), [&](const MetricLine& line) {
        if (event_file != nullptr) event_file->Write(line);
      });
  if (!problem.empty()) trainer_->events().Notice("warning", problem);
  if (event_file != nullptr) TellProblem(*event_file);
}

void MetricLogger::AfterValidation(engine::TrainerContext& context) {
  if (options_.json) WriteTables(context);
  if (!context.is_mid_epoch) return;
  Write({.epoch = context.epoch + 1,
         .step = trainer_->position().step,
         .iteration = trainer_->position().global_batch,
         .scores = context.scores});
}

void MetricLogger::AfterEpoch(engine::TrainerContext& context) {
  engine::Scores scores = context.scores;
  for (const auto& [name, optimizer] :
       trainer_->training_runner().Optimizers()) {
    scores.emplace_back(
        name == "optimizer" ? "learning_rate" : "learning_rate_" + name,
        optimizer->lr());
  }
  // What hooks told of the epoch's steps: means of what is averaged.
  for (const auto& [name, history] : trainer_->messages().all()) {
    if (engine::FindScore(scores, name) != nullptr ||
        name.starts_with("train/step_")) {
      continue;
    }
    const LogRule rule = engine::DefaultLogRule(name, ScalarHistory::kEpoch);
    scores.emplace_back(name, history.Get(rule.statistic, rule.window));
  }
  Write({.epoch = context.epoch + 1,
         .step = trainer_->position().step,
         .scores = std::move(scores)});
}

void MetricLogger::AttachToTraining(engine::TrainingRunner& runner) {
  if (!options_.every_steps) return;
  runner.on_step_metrics.Bind(
      [this](engine::RunnerContext& context) { AfterStep(context); });
}

void MetricLogger::AttachToGan(engine::GanTrainingRunner& runner) {
  if (!options_.every_steps) return;
  runner.on_step_metrics.Bind(
      [this](engine::GanContext& context) { AfterStep(context); });
}

void MetricLogger::AfterStep(const engine::RunnerContext& context) {
  if (trainer_ == nullptr) return;
  MessageHub& hub = trainer_->messages();
  if (!context.skip) {
    if (context.optimizer != nullptr && context.loss.defined()) {
      hub.Add("train/step_loss", context.loss);
    }
    for (const auto* list : {&context.losses, &context.metrics}) {
      for (const auto& [name, value] : *list) {
        hub.Add("train/step_" + name, value);
      }
    }
  }
  if (!context.stepped || context.step % *options_.every_steps != 0) return;
  MetricLine line{.epoch = context.epoch + 1,
                  .step = context.step,
                  .scores = StepScores(trainer_->messages(), options_)};
  engine::Json metrics = engine::Json::object();
  for (const auto& [name, value] : line.scores) {
    metrics[name] = engine::FromNumber(value);
  }
  trainer_->events().Emit(
      "metrics",
      {{"epoch", line.epoch}, {"step", line.step}, {"metrics", metrics}});
  Write(std::move(line));
}

void MetricLogger::Write(MetricLine line) {
  line.time = WallTime();
  for (const auto& writer : writers_) {
    writer->Write(line);
    TellProblem(*writer);
  }
}

void MetricLogger::TellProblem(MetricWriter& writer) {
  const std::string problem = writer.TakeProblem();
  if (!problem.empty()) trainer_->events().Notice("warning", problem);
}

void MetricLogger::Finalize(engine::TrainerContext&, engine::RunResult result) {
  for (const auto& writer : writers_) {
    writer->Finish(engine::ToString(result));
    TellProblem(*writer);
  }
}

nlohmann::ordered_json MetricLogger::State() const {
  if (options_.mlflow.uri.empty()) return nullptr;
  return {{"mlflow_key", options_.mlflow.key}};
}

void MetricLogger::LoadState(const nlohmann::ordered_json& state) {
  options_.mlflow.key = state.value("mlflow_key", "");
  options_.mlflow.go_on = !options_.mlflow.key.empty();
}

namespace {

int64_t ReadWindow(const engine::Params& params, const engine::Json& value) {
  if (value.is_null() || value == "global") return ScalarHistory::kGlobal;
  if (value == "epoch") return ScalarHistory::kEpoch;
  if (value.is_number_integer() && value.get<int64_t>() > 0 &&
      value.get<int64_t>() <= 1'000'000) {
    return value.get<int64_t>();
  }
  params.Fail("statistics", "window " + value.dump() +
                                "; 1 to 1000000 values, epoch and global are "
                                "accepted");
}

std::vector<LogRule> ReadStatistics(const engine::Params& params) {
  std::vector<LogRule> rules;
  if (!params.Has("statistics")) return rules;
  for (const engine::Json& each : params.Raw("statistics")) {
    LogRule rule;
    for (const auto& [key, value] : each.items()) {
      if (key != "name" && key != "method" && key != "window" &&
          key != "log_name") {
        params.Fail("statistics", "\"" + key +
                                      "\" is not known; name, method, window "
                                      "and log_name are accepted");
      }
      if (key != "window" && !value.is_string()) {
        params.Fail("statistics", key + " " + value.dump() + "; not a string");
      }
    }
    rule.source = each.value("name", "");
    if (rule.source.empty()) params.Fail("statistics", "an entry has no name");
    const std::string method = each.value("method", "mean");
    try {
      rule.statistic = engine::ParseStatistic(method);
    } catch (const std::invalid_argument& error) {
      params.Fail("statistics", std::string("method ") + error.what());
    }
    const engine::Json window = each.value("window", engine::Json("global"));
    rule.window = ReadWindow(params, window);
    rule.log_name = each.value(
        "log_name",
        rule.source + "/" + method + "_" +
            (window.is_string() ? window.get<std::string>() : window.dump()));
    for (const LogRule& other : rules) {
      if (other.log_name == rule.log_name) {
        params.Fail("statistics",
                    "log_name \"" + rule.log_name + "\" is there twice");
      }
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

MetricLogger::Options ReadLoggerOptions(const engine::Params& params) {
  MetricLogger::Options options{
      .json = params.Bool("json"),
      .tensorboard = params.Bool("tensorboard"),
      .every_steps = params.OptionalInt("every_steps"),
      .window = params.Int("window"),
      .statistics = ReadStatistics(params)};
  options.mlflow.uri = params.OptionalString("mlflow").value_or("");
  options.mlflow.experiment = params.String("mlflow_experiment");
  options.mlflow.run_name = params.OptionalString("mlflow_run").value_or("");
  if (!options.mlflow.uri.empty() &&
      !options.mlflow.uri.starts_with("http://") &&
      !options.mlflow.uri.starts_with("https://")) {
    params.Fail("mlflow", "\"" + options.mlflow.uri +
                              "\"; http://host:port and https://host are "
                              "accepted");
  }
  if (!options.every_steps &&
      (!options.statistics.empty() || options.window != 1)) {
    params.Fail(options.statistics.empty() ? "window" : "statistics",
                "is of steps, which are logged only with every_steps");
  }
  return options;
}

}  // namespace

engine::Entry<engine::Hook> MetricLoggerEntry() {
  return {{.kind = "hook",
           .name = "MetricLogger",
           .aliases = {"LossLogger", "LoggerHook"},
           .help = "writes scores as JSON lines, for TensorBoard and MLflow",
           .parameters =
               {{.name = "json",
                 .type = "bool",
                 .default_value = true,
                 .help = "write metrics.jsonl"},
                {.name = "tensorboard",
                 .type = "bool",
                 .default_value = true,
                 .help = "write an event file"},
                {.name = "every_steps",
                 .type = "int",
                 .min = 1,
                 .aliases = {"interval"},
                 .help = "also at each n-th step"},
                {.name = "window",
                 .type = "int",
                 .default_value = 1,
                 .min = 1,
                 .max = 1'000'000,
                 .help = "steps whose losses, times and norms are averaged"},
                {.name = "statistics",
                 .type = "list<map>",
                 .help = "more of steps: {name, method: mean|min|max|current, "
                         "window: n|epoch|global, log_name}"},
                {.name = "mlflow",
                 .type = "string",
                 .help = "address of an MLflow server, such as "
                         "http://host:5000"},
                {.name = "mlflow_experiment",
                 .type = "string",
                 .default_value = "Default",
                 .help = "is made when it is not there"},
                {.name = "mlflow_run",
                 .type = "string",
                 .help = "name of the run; the server finds one by default"}},
           .one_of = "MetricLogger"},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<MetricLogger>(ReadLoggerOptions(params));
          }};
}

}  // namespace epochd::hooks
