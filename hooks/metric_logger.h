// SPDX-License-Identifier: Apache-2.0
//
// MetricLogger: writes scores for people and tools: JSON lines in
// <output>/metrics.jsonl, a TensorBoard event file in <output>/tensorboard/, a
// run of an MLflow server. After each epoch, and each validation within one;
// with `every_steps` also within
// it: losses and metrics of steps, as train/step_<name>, and what other hooks
// put into the message hub, by the rules of MMEngine's log processor. Tables of
// metrics, such as a confusion matrix, become <output>/val_<name>.csv, that of
// the last validation. Rank 0 alone writes. A run that goes on from a
// checkpoint begins its files with what was logged before that
// (earlier_metrics.h). Of a test, validation or benchmark the scores are one
// line, of epoch 0.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hooks/metric_writer.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/hook/message_hub.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class MetricLogger : public engine::Hook {
 public:
  struct Options {
    bool json = true;
    bool tensorboard = true;
    std::optional<int64_t> every_steps = {};
    // Values that means are taken over where the name says loss, time or
    // grad_norm.
    int64_t window = 1;
    // Statistics beside those.
    std::vector<engine::LogRule> statistics = {};
    // An empty uri: no MLflow.
    MlflowClient::Options mlflow = {};
  };
  explicit MetricLogger(Options options) : options_(std::move(options)) {}

  const char* name() const override { return "MetricLogger"; }
  bool may_stop() const override { return false; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;
  void Finalize(engine::TrainerContext& context,
                engine::RunResult result) override;
  // The run on the MLflow server, so that a restart goes on with it.
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

 private:
  void Open();
  // Into files that are just opened.
  void CarryEarlierLines();
  void WriteTables(const engine::TrainerContext& context);
  void AfterValidation(engine::TrainerContext& context);
  void AfterEpoch(engine::TrainerContext& context);
  void AfterStep(const engine::RunnerContext& context);
  void Write(MetricLine line);
  void TellProblem(MetricWriter& writer);

  Options options_;
  engine::Trainer* trainer_ = nullptr;
  std::vector<std::unique_ptr<MetricWriter>> writers_;
  std::set<std::string> tables_;  // whose files are known as outputs
};

// A row of column names, then a row each with its name first.
std::string TableAsCsv(const engine::MetricTable& table);

engine::Entry<engine::Hook> MetricLoggerEntry();

}  // namespace epochd::hooks
