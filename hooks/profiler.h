// SPDX-License-Identifier: Apache-2.0
//
// Profiler: records what LibTorch does during some steps, with Kineto, and
// writes it as a Chrome trace (chrome://tracing, Perfetto):
// <output>/profile/rank-0-step-000012.json. Operators of the forward and
// backward pass, kernels on GPUs, and spans of ours: step, forward, backward,
// optimizer. Nothing is recorded before the first of those steps and after the
// last, so a run pays for those alone. Each rank writes its own file.
#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <memory>
#include <string>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class Profiler : public engine::Hook {
 public:
  struct Options {
    int64_t first = 10;  // batches of this run left out before
    int64_t steps = 5;   // batches that are recorded
    bool shapes = false;
    bool memory = false;
  };
  explicit Profiler(Options options) : options_(options) {}

  const char* name() const override { return "Profiler"; }
  bool may_stop() const override { return false; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;
  // Also of a run that ended within the steps.
  void Teardown(engine::Trainer& trainer) override;

 private:
  void BeforeStep(const engine::RunnerContext& context);
  void AfterStep();
  void Begin();
  void End();
  // Ends the span that is open and begins another.
  void Span(const char* name);

  const Options options_;
  engine::Trainer* trainer_ = nullptr;
  int64_t seen_ = 0;
  bool is_on_ = false;
  std::string path_;
  std::string step_name_;
  std::unique_ptr<at::RecordFunction> step_;
  std::unique_ptr<at::RecordFunction> part_;
};

engine::Entry<engine::Hook> ProfilerEntry();

}  // namespace epochd::hooks
