// SPDX-License-Identifier: Apache-2.0
#include "hooks/metric_logger.h"

#include <chrono>
#include <filesystem>
#include <fstream>

#include "worker/engine/core/number.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

double WallTime() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void MetricLogger::AttachToTrainer(engine::Trainer& trainer) {
  const std::string& output = trainer.environment().output_dir;
  if (!trainer.is_main_rank() || output.empty()) return;
  trainer_ = &trainer;
  if (options_.json) trainer.AddOutput("metrics", output + "/metrics.jsonl");
  if (options_.tensorboard) {
    trainer.AddOutput("tensorboard", output + "/tensorboard");
    event_file_ = std::make_unique<EventFile>(output + "/tensorboard");
  }
  trainer.on_epoch_finished.Bind([this](engine::TrainerContext& context) {
    engine::Scores scores = context.scores;
    for (const auto& [name, optimizer] :
         trainer_->training_runner().Optimizers()) {
      scores.emplace_back(
          name == "optimizer" ? "learning_rate" : "learning_rate_" + name,
          optimizer->lr());
    }
    Log(context.epoch + 1, trainer_->position().step, scores);
  });
}

void MetricLogger::AttachToTraining(engine::TrainingRunner& runner) {
  if (!options_.every_steps) return;
  runner.on_post_step.Bind([this](engine::RunnerContext& context) {
    if (trainer_ == nullptr || context.step == 0 ||
        context.step % *options_.every_steps != 0) {
      return;
    }
    const double loss = context.loss.item<double>();
    trainer_->events().Emit(
        "metrics",
        {{"epoch", context.epoch + 1},
         {"step", context.step},
         {"metrics", {{"train/step_loss", engine::FromNumber(loss)}}}});
    Log(context.epoch + 1, context.step, {{"train/step_loss", loss}});
  });
}

void MetricLogger::Log(int64_t epoch, int64_t step,
                       const engine::Scores& scores) {
  const double time = WallTime();
  if (options_.json) {
    const std::string& output = trainer_->environment().output_dir;
    engine::Json line = {{"time", time}, {"epoch", epoch}, {"step", step}};
    for (const auto& [name, value] : scores) {
      line[name] = engine::FromNumber(value);
    }
    std::error_code error;
    std::filesystem::create_directories(output, error);
    std::ofstream file(output + "/metrics.jsonl", std::ios::app);
    file << line.dump() << '\n';
    file.flush();
    if (!file) Complain(output + "/metrics.jsonl");
  }
  if (event_file_ && !event_file_->AddScalars(time, step, scores)) {
    Complain(trainer_->environment().output_dir + "/tensorboard");
  }
}

void MetricLogger::Complain(const std::string& path) {
  if (complained_) return;
  complained_ = true;
  trainer_->events().Notice("warning", "\"" + path +
                                           "\": cannot write; metrics there "
                                           "are incomplete");
}

engine::Entry<engine::Hook> MetricLoggerEntry() {
  return {{.kind = "hook",
           .name = "MetricLogger",
           .aliases = {"LossLogger"},
           .help = "writes scores as JSON lines and for TensorBoard",
           .parameters = {{.name = "json",
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
                           .help = "also the loss of each n-th step"}}},
          [](const engine::Params& params) -> std::shared_ptr<engine::Hook> {
            return std::make_shared<MetricLogger>(MetricLogger::Options{
                .json = params.Bool("json"),
                .tensorboard = params.Bool("tensorboard"),
                .every_steps = params.OptionalInt("every_steps")});
          }};
}

}  // namespace epochd::hooks
