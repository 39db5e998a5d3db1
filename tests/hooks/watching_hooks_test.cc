// SPDX-License-Identifier: Apache-2.0
//
// Hooks that watch a run and change nothing of it.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>

#include "hooks/curve_saver.h"
#include "hooks/nan_guard.h"
#include "hooks/step_timer.h"
#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

namespace fs = std::filesystem;
using engine::Json;

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A run with these hooks, to its end.
struct HookedRun {
  HookedRun(int epochs, const char* hooks, const std::string& output = "")
      : run(
            [&] {
              Json json = engine::DigitsExperiment(epochs);
              json["hooks"] = Json::parse(hooks);
              return json;
            }(),
            output) {
    run.trainer().Start();
  }
  engine::TestRun run;
};

TEST(WatchingHooksTest, ChangeNothingOfARun) {
  const engine::TempFolder output;
  HookedRun plain(2, "[]");
  plain.run.trainer().Run();
  HookedRun watched(2, R"([{"type": "StepTimer"}, {"type": "NanGuard"},
      {"type": "LearningRateMonitor"}, {"type": "EnvironmentReport"},
      {"type": "CurveSaver"}, {"type": "Profiler", "first": 3, "steps": 2},
      {"type": "MetricLogger", "every_steps": 3}])",
                    output.path());
  watched.run.trainer().Run();
  EXPECT_TRUE(at::equal(plain.run.Weights(), watched.run.Weights()));
  EXPECT_TRUE(watched.run.sink.Of("notice").empty());

  std::ifstream metrics(output / "metrics.jsonl");
  std::vector<Json> lines;
  for (std::string line; std::getline(metrics, line);) {
    lines.push_back(Json::parse(line));
  }
  ASSERT_EQ(lines.size(), 10u);  // eight of steps, two of epochs
  for (const Json& line : lines) {
    const bool is_epoch = line.contains("val/loss");
    const std::string at = is_epoch ? "train/" : "train/step_";
    EXPECT_GT(line[at + "time"].get<double>(), 0);
    EXPECT_GE(line[at + "time"], line[at + "data_time"]);
    EXPECT_EQ(line.contains("val/time"), is_epoch);
    EXPECT_EQ(line.contains("val/data_time"), is_epoch);
    EXPECT_GE(line["train/eta"].get<double>(), 0);
    EXPECT_GT(line["learning_rate"].get<double>(), 0);
    EXPECT_EQ(line["momentum"], 0.9);  // AdamW's first beta
  }
  EXPECT_EQ(lines.back()["train/eta"], 0.0);

  const Json environment = Json::parse(Contents(output / "environment.json"));
  EXPECT_EQ(environment["seed"], 7);
  EXPECT_EQ(environment["world_size"], 1);
  EXPECT_TRUE(environment["libtorch"].get<std::string>().starts_with("2."));
}

// Batches left by train/eta, after each batch of a run by `trainer`.
std::vector<int64_t> BatchesLeft(const Json& trainer) {
  Json json = engine::DigitsExperiment(1);
  json["trainer"] = trainer;
  json.erase("lr_scheduler");
  json["hooks"] = {{{"type", "StepTimer"}}};
  engine::TestRun run(json);
  std::vector<int64_t> left;
  double total = 0;
  auto& runner =
      dynamic_cast<engine::TrainingRunner&>(run.trainer().training_runner());
  runner.on_post_step.Bind([&](engine::RunnerContext& context) {
    total += engine::FindLoss(context.metrics, "time")->item<double>();
    const double eta = run.trainer()
                           .messages()
                           .Find("train/eta")
                           ->Get(engine::Statistic::kCurrent, 1);
    left.push_back(
        std::llround(eta / (total / static_cast<double>(left.size() + 1))));
  });
  run.trainer().Start();
  run.trainer().Run();
  return left;
}

TEST(StepTimerTest, CountsDownToTheEndOfTheRun) {
  // 12 batches an epoch.
  for (const Json& trainer :
       {Json{{"type", "IterationTrainer"}, {"max_iterations", 15}},
        Json{{"type", "EpochTrainer"}, {"epochs", 5}, {"max_steps", 15}}}) {
    const std::vector<int64_t> left = BatchesLeft(trainer);
    ASSERT_EQ(left.size(), 15u);
    EXPECT_EQ(left.front(), 14);
    EXPECT_EQ(left.back(), 0);
  }
}

TEST(StepTimerTest, DoesNotWaitForDataDuringAValidation) {
  Json json = engine::DigitsExperiment(1);
  json["trainer"]["val_interval"] = 0.25;
  json["hooks"] = Json::array();
  engine::TestRun run(json);
  // Bound before the hook: it began earlier, and its times are longer.
  std::optional<std::chrono::steady_clock::time_point> validated;
  run.trainer().on_validation_finished.Bind([&](engine::TrainerContext&) {
    validated = std::chrono::steady_clock::now();
  });
  run.trainer().AddHook(std::make_shared<StepTimer>());
  auto& runner =
      dynamic_cast<engine::TrainingRunner&>(run.trainer().training_runner());
  int steps = 0;
  runner.on_step_metrics.Bind([&](engine::RunnerContext& context) {
    if (!validated) return;
    const std::chrono::duration<double> lasted =
        std::chrono::steady_clock::now() - *validated;
    EXPECT_LT(engine::FindLoss(context.metrics, "time")->item<double>(),
              lasted.count());
    validated.reset();
    ++steps;
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(steps, 3);
}

TEST(ProfilerTest, WritesAChromeTraceOfTheStepsItIsToldTo) {
  const engine::TempFolder output;
  HookedRun profiled(1, R"([{"type": "Profiler", "first": 4, "steps": 2}])",
                     output.path());
  profiled.run.trainer().Run();
  const Json trace =
      Json::parse(Contents(output / "profile/rank-0-step-000005.json"));
  std::map<std::string, int> count;
  for (const Json& event : trace.at("traceEvents")) {
    ++count[event.value("name", "")];
  }
  EXPECT_EQ(count["step 5"], 1);
  EXPECT_EQ(count["step 6"], 1);
  EXPECT_EQ(count.count("step 4") + count.count("step 7"), 0u);
  EXPECT_EQ(count["forward"], 2);
  EXPECT_EQ(count["backward"], 2);
  EXPECT_EQ(count["optimizer"], 2);
  EXPECT_GT(count["aten::addmm"] + count["aten::linear"], 0);
}

TEST(CurveSaverTest, DrawsAllEpochsAlsoThoseBeforeARestart) {
  const engine::TempFolder output;
  HookedRun run(2, R"([{"type": "CurveSaver", "metrics": ["val/loss"]}])",
                output.path());
  run.run.trainer().Run();
  const std::string svg = Contents(output / "curves.svg");
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_NE(svg.find(">val/loss</text>"), std::string::npos);
  EXPECT_EQ(svg.find("train/loss"), std::string::npos);
  EXPECT_FALSE(fs::exists(output / "curves.svg.new"));

  CurveSaver before({});
  const Json state = Json::parse(
      R"([{"name": "val/loss", "points": [[1, 0.5], [2, "NaN"], [3, 0.25]]}])");
  before.LoadState(state);
  EXPECT_EQ(before.State(), state);
}

TEST(CurveSaverTest, DrawsValidationsWithinEpochsOverIterations) {
  const engine::TempFolder output;
  Json json = engine::DigitsExperiment(1);
  json["trainer"] = {{"type", "IterationTrainer"},
                     {"max_iterations", 24},
                     {"val_interval", 7}};
  json["hooks"] = Json::array();
  engine::TestRun run(json, output.path());
  const auto saver =
      std::make_shared<CurveSaver>(std::vector<std::string>{"val/loss"});
  run.trainer().AddHook(saver);
  run.trainer().Start();
  run.trainer().Run();
  std::vector<int64_t> places;
  const Json state = saver->State();
  for (const Json& point : state.at(0).at("points")) {
    places.push_back(point.at(0));
  }
  EXPECT_EQ(places, (std::vector<int64_t>{7, 14, 21, 24}));
}

TEST(CurveSaverTest, ScoresOfOneNameShareAPanelAndGapsAreLeft) {
  const std::string svg =
      DrawCurves({{"train/loss", {{1, 1.0}, {2, 0.5}}},
                  {"val/loss", {{1, 1.0}, {2, NAN}, {3, 0.5}}},
                  {"val/a<b", {{1, 1.0}}}});
  // A frame for each panel beside the background.
  size_t frames = 0;
  for (size_t at = svg.find("<rect"); at != std::string::npos;
       at = svg.find("<rect", at + 1)) {
    ++frames;
  }
  EXPECT_EQ(frames, 3u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
}

// Sets the loss or a gradient of the batches in [first, last) to infinity.
void Poison(engine::TestRun& run, int64_t first, int64_t last, bool loss) {
  auto& runner =
      dynamic_cast<engine::TrainingRunner&>(run.trainer().training_runner());
  if (loss) {
    runner.on_post_forward.Bind([=](engine::RunnerContext& context) {
      if (context.batch >= first && context.batch < last) {
        context.loss = context.loss * std::numeric_limits<double>::infinity();
      }
    });
  } else {
    runner.on_post_backward.Bind([=](engine::RunnerContext& context) {
      if (context.batch >= first && context.batch < last) {
        context.optimizer->parameters()[0].tensor.mutable_grad().fill_(NAN);
      }
    });
  }
}

// A run whose guard is bound after the poison.
std::unique_ptr<engine::TestRun> GuardedRun(int64_t limit, int64_t first,
                                            int64_t last, bool loss) {
  Json json = engine::DigitsExperiment(1);
  json["hooks"] = Json::array();
  auto run = std::make_unique<engine::TestRun>(json);
  Poison(*run, first, last, loss);
  run->trainer().AddHook(std::make_shared<NanGuard>(limit));
  run->trainer().Start();
  return run;
}

TEST(NanGuardTest, EndsTheTrainingNamingStepAndBatch) {
  for (bool loss : {true, false}) {
    auto run = GuardedRun(1, 4, 5, loss);
    try {
      run->trainer().Run();
      FAIL() << "no error";
    } catch (const engine::Error& error) {
      EXPECT_EQ(error.kind(), engine::ErrorKind::kTraining);
      EXPECT_EQ(std::string(error.what()),
                std::string("NanGuard: ") +
                    (loss ? "the loss is" : "gradients are") +
                    " not finite at epoch 1, batch 5 (step 5)");
    }
    EXPECT_TRUE(run->Weights().isfinite().all().item<bool>());
  }
}

TEST(NanGuardTest, LeavesStepsOutUntilThereAreTooManyInARow) {
  auto skipping = GuardedRun(3, 4, 6, true);
  skipping->trainer().Run();
  EXPECT_EQ(skipping->trainer().position().step, 10);
  EXPECT_TRUE(skipping->Weights().isfinite().all().item<bool>());
  EXPECT_EQ(skipping->sink.Of("notice").size(), 1u);

  auto ending = GuardedRun(3, 4, 7, true);
  EXPECT_THROW(ending->trainer().Run(), engine::Error);

  auto never = GuardedRun(0, 0, 12, false);
  never->trainer().Run();
  EXPECT_EQ(never->trainer().position().step, 0);
}

TEST(NanGuardTest, HasStepsLeftOutThatTheRunnerWouldDo) {
  for (bool guarded : {true, false}) {
    Json json = engine::DigitsExperiment(1);
    json["runner"] = {{"type", "TrainingRunner"},
                      {"non_finite_gradients", "apply"}};
    json["hooks"] = Json::array();
    engine::TestRun run(json);
    Poison(run, 4, 5, false);
    if (guarded) run.trainer().AddHook(std::make_shared<NanGuard>(2));
    run.trainer().Start();
    if (guarded) {
      run.trainer().Run();
    } else {
      EXPECT_THROW(run.trainer().Run(), engine::Error);
    }
    EXPECT_EQ(run.Weights().isfinite().all().item<bool>(), guarded);
    EXPECT_EQ(run.trainer().position().step, guarded ? 11 : 12);
  }
}

TEST(NanGuardTest, DoesNotBlameTheSearchForTheScaleOfHalfFloats) {
  for (bool loss : {true, false}) {
    Json json = engine::DigitsExperiment(1);
    json["runner"] = {{"type", "TrainingRunner"},
                      {"precision", "fp16"},
                      {"grad_scaler", {{"init_scale", 1e7}}}};
    json["hooks"] = Json::array();
    engine::TestRun run(json);
    if (loss) Poison(run, 8, 9, true);
    run.trainer().AddHook(std::make_shared<NanGuard>(1));
    run.trainer().Start();
    if (loss) {
      EXPECT_THROW(run.trainer().Run(), engine::Error);
    } else {
      run.trainer().Run();
    }
    const Json state = run.trainer().training_runner().State();
    EXPECT_GT(state["skipped"], 1);
    EXPECT_EQ(state["faults"], loss ? 1 : 0);
  }
}

}  // namespace
}  // namespace epochd::hooks
