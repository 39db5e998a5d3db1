// SPDX-License-Identifier: Apache-2.0
#include "hooks/progress_reporter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/loop/tiny_run.h"

namespace epochd::hooks {
namespace {

using engine::Json;

TEST(ProgressReporterTest, TellsOfTheRunInOrder) {
  engine::TestRun run(engine::DigitsExperiment(2));
  run.trainer().AddHook(
      std::make_shared<ProgressReporter>(ProgressReporter::Options()));
  run.trainer().Start();
  run.trainer().Run();
  std::vector<std::string> types;
  for (const auto& [type, fields] : run.sink.events) {
    if (type != "progress") types.push_back(type);
  }
  EXPECT_EQ(types, (std::vector<std::string>{
                       "training_began", "epoch_started", "first_step",
                       "epoch_finished", "epoch_started", "epoch_finished"}));
  const Json began = run.sink.Of("training_began")[0];
  EXPECT_EQ(began["total_epochs"], 2);
  EXPECT_EQ(began["initial_epoch"], 1);
  EXPECT_EQ(began["train_batches"], 12);
  EXPECT_EQ(began["parameters"], 1210);
  EXPECT_EQ(run.sink.Of("first_step")[0]["step"], 1);
  const Json finished = run.sink.Of("epoch_finished")[1];
  EXPECT_EQ(finished["epoch"], 2);
  EXPECT_TRUE(finished["metrics"].contains("val/accuracy"));
  EXPECT_DOUBLE_EQ(finished["learning_rates"]["optimizer"].get<double>(),
                   0.003 * 0.7);
}

TEST(ProgressReporterTest, TellsOfValidationsWithinAnEpoch) {
  Json json = engine::DigitsExperiment(1);
  json["trainer"]["val_interval"] = 0.25;
  engine::TestRun run(json);
  run.trainer().AddHook(
      std::make_shared<ProgressReporter>(ProgressReporter::Options()));
  run.trainer().Start();
  run.trainer().Run();
  std::vector<int> steps;
  for (const Json& event : run.sink.Of("metrics")) {
    EXPECT_EQ(event["epoch"], 1);
    EXPECT_TRUE(event["metrics"].contains("val/accuracy"));
    EXPECT_FALSE(event["metrics"].contains("train/loss"));
    steps.push_back(event["step"]);
  }
  EXPECT_EQ(steps, (std::vector<int>{3, 6, 9}));
  EXPECT_EQ(run.sink.Of("epoch_finished").size(), 1u);
}

TEST(ProgressReporterTest, TellsOfProgressAtMostFourTimesASecond) {
  engine::TestRun run(engine::DigitsExperiment(30));
  run.trainer().AddHook(
      std::make_shared<ProgressReporter>(ProgressReporter::Options()));
  run.trainer().Start();
  const auto began = std::chrono::steady_clock::now();
  run.trainer().Run();
  const std::chrono::duration<double> lasted =
      std::chrono::steady_clock::now() - began;
  const auto told = static_cast<double>(run.sink.Of("progress").size());
  EXPECT_GE(told, 1);
  EXPECT_LE(told, lasted.count() * 4 + 1);
}

// Progress of each batch of a training.
std::vector<Json> ProgressOf(std::unique_ptr<engine::BatchSource> source,
                             engine::LoopPlan plan) {
  engine::TinyRun run(std::move(source), {.plan = std::move(plan)});
  run.trainer->AddHook(std::make_shared<ProgressReporter>(
      ProgressReporter::Options{.interval = std::chrono::milliseconds(0)}));
  run.Run();
  return run.sink.Of("progress");
}

TEST(ProgressReporterTest, Case132And180CountsWithinTheEpochFromOne) {
  const std::vector<Json> progress =
      ProgressOf(engine::List(engine::Ones(4)), {.max_epochs = 3});
  ASSERT_EQ(progress.size(), 12u);
  EXPECT_EQ(progress[8]["epoch"], 3);
  EXPECT_EQ(progress[8]["batch"], 1);
  EXPECT_EQ(progress[8]["batches"], 4);
  EXPECT_EQ(progress[11]["batch"], 4);
}

TEST(ProgressReporterTest, Case180OfUnknownLengthThereIsNoTotal) {
  for (const int64_t length : {engine::kUnknownLength, engine::kEndless}) {
    const std::vector<Json> progress =
        ProgressOf(std::make_unique<engine::ListSource>(
                       [](int64_t) { return engine::Ones(5); }, length),
                   {.max_epochs = 1, .max_batches = 5});
    ASSERT_EQ(progress.size(), 5u);
    for (size_t i = 0; i < progress.size(); ++i) {
      EXPECT_EQ(progress[i]["batch"], static_cast<int64_t>(i) + 1);
      EXPECT_EQ(progress[i]["batches"], 0);
    }
  }
}

TEST(ProgressReporterTest, OneSpeaksWhereAJobListsSeveral) {
  Json json = engine::DigitsExperiment(1);
  json["hooks"] = {{{"type", "ProgressBar"}, {"scope", "train"}, {"name", "T"}},
                   {{"type", "ProgressBar"}, {"scope", "val"}, {"name", "V"}}};
  engine::TestRun run(json);
  run.trainer().Start();
  run.trainer().Run();
  for (const char* type :
       {"training_began", "epoch_started", "first_step", "epoch_finished"}) {
    EXPECT_EQ(run.sink.Of(type).size(), 1u) << type;
  }
}

TEST(ProgressReporterTest, TellsOfPredictionsAndTests) {
  for (const char* task : {"predict", "test"}) {
    Json json = engine::DigitsExperiment(1);
    json["task"] = task;
    json["data"][task] = json["data"]["val"];
    engine::TestRun run(json);
    run.trainer().AddHook(
        std::make_shared<ProgressReporter>(ProgressReporter::Options()));
    if (std::string(task) == "test") {
      run.trainer().Evaluate("test");
    } else {
      run.trainer().Predict();
    }
    const Json progress = run.sink.Of("progress").at(0);
    EXPECT_EQ(progress["phase"], task);
    EXPECT_EQ(progress["batch"], 1);
    EXPECT_EQ(progress["epoch"], 0) << "there are none";
  }
}

TEST(ProgressReporterTest, SpellsOutAScoreThatIsNoNumber) {
  engine::TestRun run(engine::DigitsExperiment(1));
  run.trainer().on_epoch_finished.Bind([](engine::TrainerContext& context) {
    context.AddScore("train/odd", std::numeric_limits<double>::quiet_NaN());
  });
  run.trainer().AddHook(
      std::make_shared<ProgressReporter>(ProgressReporter::Options()));
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.sink.Of("epoch_finished")[0]["metrics"]["train/odd"], "NaN");
}

}  // namespace
}  // namespace epochd::hooks
