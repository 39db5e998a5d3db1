// SPDX-License-Identifier: Apache-2.0
//
// How job files say it: schedules, groups, rates by batch size, flooding and
// balancers, in whole runs.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

// 1437 training samples in 12 batches of 128.
constexpr int64_t kBatches = 12;

std::vector<double> RatesOf(TestRun& run) {
  std::vector<double> rates;
  for (const auto& group :
       run.trainer().training_runner().Optimizers()[0].second->groups()) {
    rates.push_back(group.lr);
  }
  return rates;
}

std::string BuildError(const Json& json) {
  try {
    TestRun run(json);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Rate of each epoch of a run from `snapshot` (nullptr: from nothing), which
// becomes that of its end.
std::vector<double> Train(const Json& json, std::optional<Snapshot>& snapshot) {
  TestRun run(json);
  std::vector<double> rates;
  run.trainer().on_epoch_started.Bind(
      [&](TrainerContext&) { rates.push_back(RatesOf(run)[0]); });
  run.trainer().on_epoch_committed.Bind([&](TrainerContext& context) {
    if (context.ending) snapshot = context.trainer->TakeSnapshot();
  });
  if (snapshot.has_value()) {
    run.trainer().Restore(*snapshot);
  } else {
    run.trainer().Start();
  }
  run.trainer().Run();
  return rates;
}

TEST(OptimizationTest, Case33RatesGoOnWhereTheCheckpointWasTaken) {
  Json json = DigitsExperiment(2);
  json["optimizer"] = {{"type", "SGD"}, {"lr", 1.0}};
  json["lr_scheduler"] = {{"type", "StepLR"}, {"step_size", 1}, {"gamma", 0.1}};
  std::optional<Snapshot> snapshot;
  EXPECT_EQ(Train(json, snapshot), (std::vector<double>{1.0, 0.1}));
  json["trainer"]["epochs"] = 4;
  const std::vector<double> rates = Train(json, snapshot);
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_NEAR(rates[0], 0.01, 1e-15);
  EXPECT_NEAR(rates[1], 0.001, 1e-15);
}

TEST(OptimizationTest, Case94ChangedGroupsStartTheOptimizerAnew) {
  Json json = DigitsExperiment(1);
  json["optimizer"]["parameter_groups"] = {
      {{"match", "net.0"}, {"frozen", true}}};
  std::optional<Snapshot> snapshot;
  Train(json, snapshot);

  json["optimizer"].erase("parameter_groups");
  json["trainer"]["epochs"] = 2;
  TestRun run(json);
  run.trainer().Restore(*snapshot);
  // The weights are those of the checkpoint, the rate is that of the schedule.
  const auto parameters = run.trainer().model().Parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(at::equal(parameters[i].tensor, snapshot->model[i].tensor));
  }
  EXPECT_NEAR(RatesOf(run)[0], 0.003 * 0.7, 1e-15);
  const std::vector<Json> notices = run.sink.Of("notice");
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0]["severity"], "warning");
  EXPECT_EQ(notices[0]["text"],
            "optimizer: starts anew, as the checkpoint's has group 0 "
            "\"default\" has \"net.0.weight\", which was not in it");
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
}

TEST(OptimizationTest, Case30WatchesTrainingWhereThereIsNoValidation) {
  Json json = DigitsExperiment(2);
  json["data"].erase("val");
  json["lr_scheduler"] = {{"type", "plateau"}};
  TestRun run(json);
  std::vector<Scores> scores;
  run.trainer().on_epoch_finished.Bind(
      [&](TrainerContext& context) { scores.push_back(context.scores); });
  run.trainer().Start();
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  ASSERT_EQ(scores.size(), 2u);
  // Scores called val/ are never of what was trained on.
  for (const auto& [name, ignored] : scores[1]) {
    EXPECT_FALSE(name.starts_with("val/")) << name;
  }
  EXPECT_EQ(run.trainer().monitor().best_epoch, 1);
  ASSERT_EQ(run.sink.Of("notice").size(), 1u);
  EXPECT_EQ(run.sink.Of("notice")[0]["text"],
            "experiment.monitor.metric: \"val/accuracy\", and there is no "
            "validation (data.val); train/loss is watched instead, less is "
            "better");
}

// Accuracy rises from epoch to epoch: taken for a loss it would cut the rate.
TEST(OptimizationTest, APlateauKnowsByItsMetricWhichWayIsBetter) {
  const auto last_rate = [](Json scheduler) {
    Json json = DigitsExperiment(3);
    scheduler["type"] = "ReduceOnPlateau";
    scheduler["patience"] = 0;
    json["lr_scheduler"] = scheduler;
    TestRun run(json);
    run.trainer().Start();
    EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
    return run.trainer().training_runner().Optimizers().front().second->lr();
  };
  const Json accuracy = {{"monitor", "val/accuracy"}};
  Json told = accuracy;
  told["mode"] = "max";
  EXPECT_EQ(last_rate(accuracy), last_rate(told));
  told["mode"] = "min";
  EXPECT_GT(last_rate(accuracy), last_rate(told));
  // The monitored one's own direction.
  EXPECT_EQ(last_rate(Json::object()), last_rate(accuracy));
}

TEST(OptimizationTest, ChainedSchedulersByBatchAndEpoch) {
  Json json = DigitsExperiment(2);
  json["lr_scheduler"] = {
      {{"type", "LinearLR"},
       {"start_factor", 0.5},
       {"end", kBatches},
       {"by", "iteration"}},
      {{"type", "StepLR"}, {"step_size", 1}, {"gamma", 0.1}}};
  // Also by reference to the list, as SR-Forge's trainer has it.
  for (const bool by_reference : {false, true}) {
    if (by_reference) {
      json["trainer"]["lr_scheduler"] = "${ref:lr_scheduler}";
    }
    std::optional<Snapshot> snapshot;
    const std::vector<double> rates = Train(json, snapshot);
    EXPECT_NEAR(rates[0], 0.0015, 1e-15);
    EXPECT_NEAR(rates[1], 0.0003, 1e-15);
  }
}

TEST(OptimizationTest, Case40AScheduleByStepKnowsHowManyThereWillBe) {
  Json json = DigitsExperiment(3);
  json["runner"] = {{"type", "TrainingRunner"},
                    {"gradient_accumulation_steps", 5}};
  json["lr_scheduler"] = {{"type", "LinearLR"},
                          {"start_factor", 1.0},
                          {"end_factor", 0.0},
                          {"rule", "mmengine"},
                          {"by", "step"}};
  // 12 batches are 3 steps; the last of 9 has the end value.
  TestRun run(json);
  std::vector<double> rates;
  run.trainer().on_step_boundary.Bind(
      [&](TrainerContext&) { rates.push_back(RatesOf(run)[0]); });
  run.trainer().Start();
  run.trainer().Run();
  ASSERT_EQ(rates.size(), 9u);
  EXPECT_GT(rates[6], 0.0);
  EXPECT_NEAR(rates[7], 0.0, 1e-15);
}

// However the schedule counts, and whatever else would end the run later.
TEST(OptimizationTest, Case40LengthsFollowFromTheStepsThatEndTheRun) {
  for (const int64_t group : {1, 5}) {
    // 12 batches are 3 groups of 5.
    const int64_t most = group == 1 ? 30 : 7;
    for (const Json& trainer : std::vector<Json>{
             {{"type", "EpochTrainer"}, {"epochs", 100}, {"max_steps", most}},
             {{"type", "EpochTrainer"}, {"max_steps", most}},
             {{"type", "IterationTrainer"}, {"max_steps", most}}}) {
      for (const char* unit : {"iteration", "step"}) {
        SCOPED_TRACE(trainer.dump() + unit + std::to_string(group));
        Json json = DigitsExperiment(1);
        json["trainer"] = trainer;
        json["runner"] = {{"type", "TrainingRunner"},
                          {"gradient_accumulation_steps", group}};
        json["lr_scheduler"] = {{"type", "CosineAnnealing"}, {"by", unit}};
        TestRun run(json);
        run.trainer().Start();
        run.trainer().Run();
        EXPECT_EQ(run.trainer().position().step, most);
        EXPECT_NEAR(RatesOf(run)[0], 0.0, 1e-12);
      }
    }
  }
  Json json = DigitsExperiment(1);
  json["trainer"] = {
      {"type", "EpochTrainer"}, {"epochs", 100}, {"max_steps", 25}};
  json["lr_scheduler"] = {{"type", "CosineAnnealing"}};
  TestRun run(json);
  run.trainer().Start();
  run.trainer().Run();
  // Two of three epochs came to their end: 2/3 of half a cosine are behind.
  EXPECT_NEAR(RatesOf(run)[0], 0.003 * (1 + std::cos(M_PI * 2 / 3)) / 2, 1e-9);
}

TEST(OptimizationTest, RatesFollowFromTheBatchSize) {
  Json json = DigitsExperiment(1);
  json.erase("lr_scheduler");
  json["runner"] = {{"type", "TrainingRunner"},
                    {"gradient_accumulation_steps", 2}};
  json["optimizer"] = {
      {"type", "SGD"},
      {"lr", 0.5},
      {"parameter_groups", {{{"match", "net.0"}, {"lr_mult", 0.5}}}}};
  json["auto_scale_lr"] = {{"base_batch_size", 512}};
  {
    TestRun run(json);
    EXPECT_EQ(RatesOf(run), (std::vector<double>{0.5, 0.25}));
  }
  json["auto_scale_lr"]["enable"] = true;
  {
    TestRun run(json);
    EXPECT_EQ(RatesOf(run), (std::vector<double>{0.25, 0.125}));
  }
  json["auto_scale_lr"]["count_accumulation"] = false;
  // Schedules start from the scaled rate.
  json["lr_scheduler"] = {{"type", "ConstantLR"}, {"factor", 0.5}};
  {
    TestRun run(json);
    run.trainer().Start();
    EXPECT_EQ(RatesOf(run), (std::vector<double>{0.0625, 0.03125}));
  }
  json["auto_scale_lr"]["base_batch_size"] = 0;
  EXPECT_EQ(BuildError(json),
            "experiment.auto_scale_lr.base_batch_size: 0; a number of samples "
            "from 1 is accepted");
  json["auto_scale_lr"] = {{"enabled", true}};
  EXPECT_NE(BuildError(json).find("auto_scale_lr.enabled: not known"),
            std::string::npos);
}

TEST(OptimizationTest, LbfgsEvaluatesABatchSeveralTimes) {
  Json json = DigitsExperiment(1);
  json.erase("lr_scheduler");
  json.erase("hooks");
  json["optimizer"] = {
      {"type", "LBFGS"}, {"max_iter", 4}, {"line_search_fn", "strong_wolfe"}};
  TestRun run(json);
  std::vector<double> losses;
  run.trainer().on_epoch_finished.Bind([&](TrainerContext& context) {
    losses.push_back(*FindScore(context.scores, "train/loss"));
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().step, kBatches);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_LT(losses[0], 2.3);

  json["runner"] = {{"type", "TrainingRunner"},
                    {"gradient_accumulation_steps", 2}};
  EXPECT_NE(BuildError(json).find("neither with accumulation nor with fp16"),
            std::string::npos);
  // Also where it comes later.
  json["optimizer"] = {
      {"type", "SequentialOptimizer"},
      {"optimizers", {{{"type", "Adam"}}, {{"type", "LBFGS"}}}},
      {"milestones", 100}};
  EXPECT_NE(BuildError(json).find("neither with accumulation nor with fp16"),
            std::string::npos);
  json.erase("runner");
  json["optimizer"]["milestones"] = {100, 200};
  EXPECT_EQ(BuildError(json),
            "experiment.optimizer.milestones: expected 1 value, one less than "
            "optimizers has, got 2");
}

// The logged loss is not flooded.
TEST(OptimizationTest, FloodingKeepsTheLossFromFalling) {
  Json json = DigitsExperiment(6);
  json["model"]["dropout"] = 0.0;
  json["optimizer"] = {{"type", "Adam"}, {"lr", 0.02}};
  const auto last_loss = [&] {
    TestRun run(json);
    double loss = 0;
    run.trainer().on_epoch_finished.Bind([&](TrainerContext& context) {
      loss = *FindScore(context.scores, "train/loss");
    });
    run.trainer().Start();
    run.trainer().Run();
    return loss;
  };
  const double dry = last_loss();
  json["runner"] = {{"type", "TrainingRunner"}, {"flooding_level", 0.5}};
  const double flooded = last_loss();
  EXPECT_LT(dry, 0.25);
  EXPECT_GT(flooded, 0.4);
  EXPECT_LT(flooded, 0.8);
}

TEST(OptimizationTest, WhatChangesByTheRunIsNotNested) {
  const auto why = [](const char* patch) {
    Json json = DigitsExperiment(1);
    json.update(Json::parse(patch));
    return ErrorOf([&] { TestRun run(json); });
  };
  EXPECT_NE(why(R"({"loss": {"type": "LossSchedule", "schedule": {
                      "0": {"type": "LossSchedule", "schedule": {
                        "0": {"type": "CrossEntropy"}}}}}})")
                .find("a LossSchedule from epoch 0 on"),
            std::string::npos);
  EXPECT_NE(why(R"({"loss": {"type": "LossSchedule", "schedule": {
                      "0": {"type": "CrossEntropy"},
                      "00": {"type": "CrossEntropy"}}}})")
                .find("the key, got '00'"),
            std::string::npos);
  EXPECT_NE(why(R"({"optimizer": {"type": "SequentialOptimizer",
                      "milestones": [5], "optimizers": [
                        {"type": "Adam", "lr": 0.01},
                        {"type": "SequentialOptimizer", "milestones": [3],
                         "optimizers": [{"type": "Adam", "lr": 0.01},
                                        {"type": "SGD", "lr": 0.01}]}]}})")
                .find("a SequentialOptimizer within one"),
            std::string::npos);
}

TEST(OptimizationTest, LossesChangeWithEpochsAndBalance) {
  Json json = DigitsExperiment(3);
  json["loss"] = {{"_target", "srforge.metrics.LossScheduler"},
                  {"params",
                   {{"schedule",
                     {{"0", {{"type", "CrossEntropy"}, {"name", "early"}}},
                      {"1",
                       {{{"type", "CrossEntropy"}, {"name", "late"}},
                        {{"type", "CrossEntropy"},
                         {"name", "smooth"},
                         {"label_smoothing", 0.1},
                         {"weight", 0.5}}}}}}}}};
  json["loss_balancer"] = {{"type", "GradientNorm"},
                           {"update_every_n_steps", 1}};
  json["monitor"] = {{"metric", "val/accuracy"}, {"mode", "max"}};
  TestRun run(json);
  std::vector<Scores> scores;
  run.trainer().on_epoch_finished.Bind(
      [&](TrainerContext& context) { scores.push_back(context.scores); });
  std::optional<Snapshot> snapshot;
  run.trainer().on_epoch_committed.Bind([&](TrainerContext& context) {
    snapshot = context.trainer->TakeSnapshot();
  });
  run.trainer().Start();
  run.trainer().Run();
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_EQ(FindScore(scores[0], "train/late"), nullptr);
  ASSERT_NE(FindScore(scores[1], "train/late"), nullptr);
  EXPECT_EQ(FindScore(scores[1], "train/early"), nullptr);
  ASSERT_NE(FindScore(scores[2], "train/weight/smooth"), nullptr);
  EXPECT_NE(*FindScore(scores[2], "train/weight/smooth"), 1.0);
  // Weights are in the checkpoint.
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_TRUE(snapshot->json["loss_weights"].contains("smooth"));

  json["loss"]["params"]["schedule"] = {{"3", {{"type", "CrossEntropy"}}}};
  EXPECT_EQ(BuildError(json),
            "experiment.loss.params.schedule: expected 0 among the keys, got "
            "3");
}

}  // namespace
}  // namespace epochd::engine
