// SPDX-License-Identifier: Apache-2.0
//
// MetricLogger: writes scores for people and tools: one JSON object a line in
// <output>/metrics.jsonl, and a TensorBoard event file in
// <output>/tensorboard/. After each epoch; with `every: n steps` also the
// training loss within it. Rank 0 alone writes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "hooks/event_file.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class MetricLogger : public engine::Hook {
 public:
  struct Options {
    bool json = true;
    bool tensorboard = true;
    std::optional<int64_t> every_steps = {};
  };
  explicit MetricLogger(Options options) : options_(options) {}

  const char* name() const override { return "MetricLogger"; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToTraining(engine::TrainingRunner& runner) override;

 private:
  void Log(int64_t epoch, int64_t step, const engine::Scores& scores);
  // Says once that logs are incomplete.
  void Complain(const std::string& path);

  const Options options_;
  engine::Trainer* trainer_ = nullptr;
  std::unique_ptr<EventFile> event_file_;
  bool complained_ = false;
};

engine::Entry<engine::Hook> MetricLoggerEntry();

}  // namespace epochd::hooks
