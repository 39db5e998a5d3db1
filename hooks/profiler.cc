// SPDX-License-Identifier: Apache-2.0
#include "hooks/profiler.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;

// `name` outlives the span.
std::unique_ptr<at::RecordFunction> MakeSpan(std::string_view name) {
  auto span = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
  if (span->isActive()) span->before(name);
  return span;
}

}  // namespace

void Profiler::Teardown(engine::Trainer&) {
  part_.reset();
  step_.reset();
  End();
}

void Profiler::AttachToTrainer(engine::Trainer& trainer) {
  if (trainer.environment().output_dir.empty()) return;
  trainer_ = &trainer;
  if (trainer.is_main_rank()) {
    trainer.AddOutput("profile", trainer.environment().output_dir + "/profile");
  }
}

void Profiler::AttachToTraining(engine::TrainingRunner& runner) {
  if (trainer_ == nullptr) return;
  runner.on_pre_step.Bind(
      [this](engine::RunnerContext& context) { BeforeStep(context); });
  runner.on_post_forward.Bind(
      [this](engine::RunnerContext&) { Span("backward"); });
  runner.on_post_backward.Bind(
      [this](engine::RunnerContext&) { Span("optimizer"); });
  runner.on_post_step.Bind([this](engine::RunnerContext&) { AfterStep(); });
}

void Profiler::AttachToGan(engine::GanTrainingRunner& runner) {
  if (trainer_ == nullptr) return;
  runner.on_pre_step.Bind(
      [this](engine::GanContext& context) { BeforeStep(context); });
  runner.on_pre_d_forward.Bind([this](engine::GanContext&) { Span("d"); });
  runner.on_pre_g_forward.Bind([this](engine::GanContext&) { Span("g"); });
  runner.on_post_step.Bind([this](engine::GanContext&) { AfterStep(); });
}

void Profiler::Span(const char* name) {
  if (!is_on_) return;
  part_.reset();
  part_ = MakeSpan(name);
}

void Profiler::BeforeStep(const engine::RunnerContext& context) {
  if (seen_ == options_.first) {
    char name[64];
    std::snprintf(name, sizeof(name), "/rank-%d-step-%06lld.json",
                  trainer_->environment().communicator->rank(),
                  static_cast<long long>(context.step + 1));
    path_ = trainer_->environment().output_dir + "/profile" + name;
    Begin();
  }
  if (!is_on_) return;
  step_name_ = "step " + std::to_string(context.step + 1);
  step_ = MakeSpan(step_name_);
  Span("forward");
}

void Profiler::AfterStep() {
  part_.reset();
  step_.reset();
  if (++seen_ == options_.first + options_.steps) End();
}

void Profiler::Begin() {
  const torch::profiler::impl::ProfilerConfig config(
      torch::profiler::impl::ProfilerState::KINETO, options_.shapes,
      options_.memory);
  std::set<ActivityType> activities = {ActivityType::CPU};
  if (trainer_->environment().device.is_cuda()) {
    activities.insert(ActivityType::CUDA);
  }
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  is_on_ = true;
}

void Profiler::End() {
  if (!is_on_) return;
  is_on_ = false;
  const auto result = profiler::disableProfiler();
  std::error_code error;
  std::filesystem::create_directories(
      std::filesystem::path(path_).parent_path(), error);
  result->save(path_);
  if (!std::filesystem::exists(path_, error)) {
    trainer_->events().Notice("warning", "\"" + path_ + "\": cannot write");
  }
}

engine::Entry<engine::Hook> ProfilerEntry() {
  return {{.kind = "hook",
           .name = "Profiler",
           .aliases = {"ProfilerHook"},
           .help = "writes a Chrome trace of some steps",
           .parameters = {{.name = "first",
                           .type = "int",
                           .default_value = 10,
                           .min = 0,
                           .help = "batches left out before"},
                          {.name = "steps",
                           .type = "int",
                           .default_value = 5,
                           .min = 1,
                           .max = 10'000,
                           .help = "batches that are recorded"},
                          {.name = "shapes",
                           .type = "bool",
                           .default_value = false,
                           .help = "record shapes of inputs"},
                          {.name = "memory",
                           .type = "bool",
                           .default_value = false,
                           .help = "record allocations"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<Profiler>(
                Profiler::Options{.first = params.Int("first"),
                                  .steps = params.Int("steps"),
                                  .shapes = params.Bool("shapes"),
                                  .memory = params.Bool("memory")});
          }};
}

}  // namespace epochd::hooks
