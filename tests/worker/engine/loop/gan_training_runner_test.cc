// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/gan_training_runner.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"
#include "worker/engine/hook/priority.h"

namespace epochd::engine {
namespace {

GanTrainingRunner& RunnerOf(TestRun& run) {
  return dynamic_cast<GanTrainingRunner&>(run.trainer().training_runner());
}

// "DG D DG": what each batch trained.
std::string Sequence(const Json& hooks, int epochs, int batches) {
  Json json = GanExperiment(epochs);
  json["data"]["train"]["batch_size"] = (1438 + batches - 1) / batches;
  json["hooks"] = hooks;
  TestRun run(json);
  std::string sequence;
  std::string batch;
  RunnerOf(run).on_post_d_backward.Bind([&](GanContext&) { batch += "D"; });
  RunnerOf(run).on_post_g_backward.Bind([&](GanContext&) { batch += "G"; });
  RunnerOf(run).on_post_step.Bind([&](GanContext&) {
    sequence += (sequence.empty() ? "" : " ") + batch;
    batch.clear();
  });
  run.trainer().Start();
  run.trainer().Run();
  return sequence;
}

Json Ratio(double ratio) { return {{"type", "StepRatio"}, {"ratio", ratio}}; }
Json Warmup(int batches) {
  return {{"type", "DiscriminatorWarmup"}, {"batches", batches}};
}

TEST(GanTrainingRunnerTest, KeepsTheRatioAndTrainsBothOnTheLastBatch) {
  struct Case {
    double ratio;
    const char* sequence;
  };
  const Case kCases[] = {
      {1.0, "DG DG DG DG DG DG"}, {2.0, "DG G DG G DG DG"},
      {3.0, "DG G G DG G DG"},    {0.5, "DG D DG D DG DG"},
      {1.5, "DG G D G DG DG"},
  };
  for (const Case& each : kCases) {
    EXPECT_EQ(Sequence(Json::array({Ratio(each.ratio)}), 1, 6), each.sequence)
        << "ratio " << each.ratio;
  }
}

TEST(GanTrainingRunnerTest, ABatchWithoutAStepOfEitherSideIsNoStep) {
  Json json = GanExperiment(2);
  json["data"]["train"]["batch_size"] = 240;  // 6 batches
  TestRun run(json);
  RunnerOf(run).on_pre_step.Bind([](GanContext& context) {
    // Left out, rests, refuses.
    context.skip = context.batch == 1;
    context.run_d = context.run_g = context.batch != 2;
  });
  for (auto* point :
       {&RunnerOf(run).on_before_d_step, &RunnerOf(run).on_before_g_step}) {
    point->Bind(
        [](GanContext& context) { context.skip_step = context.batch == 3; });
  }
  std::vector<int64_t> steps;
  RunnerOf(run).on_post_step.Bind(
      [&](GanContext& context) { steps.push_back(context.step); });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 1, 1, 1, 2, 3, 4, 4, 4, 4, 5, 6}));
  EXPECT_EQ(run.trainer().position().global_batch, 12);
}

TEST(GanTrainingRunnerTest, TrainsByEachPairOfLosses) {
  for (const std::string pair : {"Gan", "LsGan", "HingeGan", "WGan"}) {
    SCOPED_TRACE(pair);
    Json json = GanExperiment(1);
    json["runner"]["d_loss"] = {{"type", pair + "DiscriminatorLoss"}};
    json["runner"]["g_loss"] = {{"type", pair + "GeneratorLoss"}};
    TestRun run(json);
    const at::Tensor before = run.Weights();
    double d_loss = 0;
    run.trainer().on_epoch_finished.Bind([&](TrainerContext& context) {
      const double* const value = FindScore(context.scores, "train/d_loss");
      ASSERT_NE(value, nullptr);
      d_loss = *value;
      EXPECT_NE(FindScore(context.scores, "train/g_loss"), nullptr);
    });
    run.trainer().Start();
    run.trainer().Run();
    EXPECT_TRUE(std::isfinite(d_loss));
    EXPECT_NE(d_loss, 0);
    EXPECT_FALSE(run.Weights().equal(before));
  }
}

Json Loss(const std::string& type, const std::string& name) {
  return {{"type", type}, {"name", name}};
}

// Of each epoch.
std::vector<Scores> ScoresOf(const Json& json) {
  TestRun run(json);
  std::vector<Scores> all;
  run.trainer().on_epoch_finished.Bind(
      [&](TrainerContext& context) { all.push_back(context.scores); });
  run.trainer().Start();
  run.trainer().Run();
  return all;
}

TEST(GanTrainingRunnerTest, MeasuresTheLossesOfWhichThoseOfSidesConsist) {
  Json json = GanExperiment(1);
  json["data"]["train"]["image"] = true;
  json["loss"] = {{{"type", "L1"}, {"output", "fake"}, {"target", "real"}},
                  {{"type", "MSE"}, {"output", "fake"}, {"target", "real"}}};
  json["runner"]["d_loss"] = {Loss("LsGanDiscriminatorLoss", "d_a"),
                              Loss("HingeGanDiscriminatorLoss", "d_b")};
  json["runner"]["g_loss"] = {Loss("LsGanGeneratorLoss", "g_a"),
                              Loss("HingeGanGeneratorLoss", "g_b")};
  const Scores scores = ScoresOf(json).back();
  const auto score = [&](const char* name) {
    const double* const value = FindScore(scores, name);
    EXPECT_NE(value, nullptr) << name;
    return value == nullptr ? 0 : *value;
  };
  EXPECT_NEAR(score("train/d_loss"), score("train/d_a") + score("train/d_b"),
              1e-4);
  EXPECT_NEAR(score("train/pixel_loss"), score("train/l1") + score("train/mse"),
              1e-4);
  EXPECT_NEAR(
      score("train/g_loss"),
      score("train/g_a") + score("train/g_b") + score("train/pixel_loss"),
      1e-4);
}

TEST(GanTrainingRunnerTest, RefusesOneNameForLossesOfBothSides) {
  Json json = GanExperiment(1);
  json["runner"]["d_loss"] = {Loss("LsGanDiscriminatorLoss", "a"),
                              Loss("HingeGanDiscriminatorLoss", "b")};
  json["runner"]["g_loss"] = {Loss("LsGanGeneratorLoss", "a"),
                              Loss("HingeGanGeneratorLoss", "c")};
  EXPECT_THROW(ScoresOf(json), Error);
}

TEST(GanTrainingRunnerTest, LossesOfBothSidesChangeWithEpochs) {
  Json json = GanExperiment(2);
  const auto schedule = [](const std::string& side, const std::string& name) {
    return Json{{"type", "LossSchedule"},
                {"schedule",
                 {{"0", Loss("LsGan" + side, name + "_a")},
                  {"1",
                   {Loss("LsGan" + side, name + "_a"),
                    Loss("HingeGan" + side, name + "_b")}}}}};
  };
  json["runner"]["d_loss"] = schedule("DiscriminatorLoss", "d");
  json["runner"]["g_loss"] = schedule("GeneratorLoss", "g");
  const std::vector<Scores> scores = ScoresOf(json);
  ASSERT_EQ(scores.size(), 2u);
  for (const char* name : {"train/d_b", "train/g_b"}) {
    EXPECT_EQ(FindScore(scores[0], name), nullptr) << name;
    EXPECT_NE(FindScore(scores[1], name), nullptr) << name;
  }
}

TEST(GanTrainingRunnerTest, AHookMayLetASideRestAlsoOnTheLastBatch) {
  for (const int priority : {kHighestPriority, kLowestPriority}) {
    Json json = GanExperiment(1);
    json["hooks"] = Json::array({Ratio(1.0)});
    TestRun run(json);
    RunnerOf(run).on_pre_step.Bind(
        [](GanContext& context) { context.run_g = false; }, priority);
    int batches = 0;
    RunnerOf(run).on_post_g_backward.Bind(
        [](GanContext& context) { FAIL() << "batch " << context.batch; });
    RunnerOf(run).on_post_step.Bind([&](GanContext&) { ++batches; });
    run.trainer().Start();
    run.trainer().Run();
    EXPECT_EQ(batches, 3);
  }
}

TEST(GanTrainingRunnerTest, WarmsUpWhicheverHookComesFirst) {
  const std::string expected = "D D D DG DG DG DG DG";
  EXPECT_EQ(Sequence(Json::array({Ratio(1.0), Warmup(3)}), 2, 4), expected);
  EXPECT_EQ(Sequence(Json::array({Warmup(3), Ratio(1.0)}), 2, 4), expected);
}

TEST(GanTrainingRunnerTest, WarmsUpAcrossEpochsAlsoOnLastBatches) {
  EXPECT_EQ(Sequence(Json::array({Warmup(5)}), 2, 4), "D D D D D DG DG DG");
}

TEST(GanTrainingRunnerTest, LeavesNoGradientInTheDiscriminator) {
  TestRun run(GanExperiment(1));
  auto count_gradients = [](AdversarialModel& gan) {
    int64_t count = 0;
    for (const NamedTensor& each : gan.discriminator().Parameters()) {
      count += each.tensor.grad().defined() ? 1 : 0;
    }
    return count;
  };
  int checked = 0;
  RunnerOf(run).on_post_g_backward.Bind([&](GanContext& context) {
    EXPECT_EQ(count_gradients(*context.gan), 0);
    ++checked;
  });
  RunnerOf(run).on_post_step.Bind([&](GanContext& context) {
    for (const NamedTensor& each : context.gan->discriminator().Parameters()) {
      EXPECT_TRUE(each.tensor.requires_grad());
    }
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_GT(checked, 0);
}

TEST(GanTrainingRunnerTest, AddsThePenaltyOnRealImages) {
  Json json = GanExperiment(1);
  json["hooks"] = {{{"type", "R1GradientPenalty"}, {"weight", 0.5}}};
  TestRun run(json);
  Scores scores;
  run.trainer().on_epoch_finished.Bind(
      [&](TrainerContext& context) { scores = context.scores; });
  run.trainer().Start();
  run.trainer().Run();
  ASSERT_NE(FindScore(scores, "train/r1"), nullptr);
  EXPECT_GT(*FindScore(scores, "train/r1"), 0.0);
  EXPECT_NE(FindScore(scores, "train/d_loss"), nullptr);
  EXPECT_NE(FindScore(scores, "train/g_loss"), nullptr);
}

TEST(GanTrainingRunnerTest, TrainsOnWhenTheMonitoredSideRestsForAnEpoch) {
  Json json = GanExperiment(2);
  json["hooks"] = Json::array({Warmup(5)});  // four batches an epoch
  TestRun run(json);
  run.trainer().Start();
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  EXPECT_EQ(run.trainer().monitor().metric, "train/g_loss");
  EXPECT_EQ(run.trainer().monitor().best_epoch, 1);
}

TEST(GanTrainingRunnerTest, ValidationHasRealTooAndItsLossIsMonitored) {
  Json json = GanExperiment(1);
  json["data"]["train"]["image"] = true;
  json["data"]["val"] = json["data"]["train"];
  json["val_loss"] = {{"type", "L1"}, {"output", "fake"}, {"target", "real"}};
  json["metrics"] = {
      {{"type", "PSNR"}, {"output", "fake"}, {"target", "real"}}};
  TestRun run(json);
  Scores scores;
  run.trainer().on_epoch_finished.Bind(
      [&](TrainerContext& context) { scores = context.scores; });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().monitor().metric, "val/loss");
  ASSERT_NE(FindScore(scores, "val/psnr"), nullptr);
  EXPECT_EQ(run.trainer().monitor().best, *FindScore(scores, "val/loss"));
}

TEST(GanTrainingRunnerTest, NoPartIsCalledAsTheSumIs) {
  for (const char* name : {"pixel_loss", "g_loss", "d_loss"}) {
    Json json = GanExperiment(1);
    json["data"]["train"]["image"] = true;
    Json part = {{"type", "L1"}, {"output", "fake"}, {"target", "real"}};
    json["loss"] = {part, part};
    json["loss"][0]["name"] = name;
    EXPECT_NE(ErrorOf([&] {
                TestRun run(json);
                run.trainer().Start();
                run.trainer().Run();
              }).find(std::string("loss \"") + name + "\": the sum"),
              std::string::npos)
        << name;
  }
}

TEST(GanTrainingRunnerTest, PostprocessesFakesBeforeHooksAndLosses) {
  const auto greatest = [](const Json& postprocessor) {
    Json json = GanExperiment(1);
    json["runner"]["postprocessor"] = postprocessor;
    TestRun run(json);
    double value = 0;
    RunnerOf(run).on_pre_step.Bind([&](GanContext& context) {
      const at::Tensor& fake = context.entry->At("fake");
      EXPECT_TRUE(fake.requires_grad());
      value = std::max(value, fake.abs().max().item<double>());
    });
    run.trainer().Start();
    run.trainer().Run();
    return value;
  };
  const double plain = greatest(Json::array());
  EXPECT_LE(plain, 1.0);
  const Json normalize = {
      {"type", "Normalize"}, {"field", "fake"}, {"mean", 100}, {"std", 1}};
  EXPECT_GT(greatest(normalize), 98.0);
}

TEST(GanTrainingRunnerTest, RefusesAModelWithoutTwoSides) {
  Json json = GanExperiment(1);
  json["model"] = DigitsExperiment(1)["model"];
  EXPECT_THROW(TestRun run(json), Error);
}

}  // namespace
}  // namespace epochd::engine
