// SPDX-License-Identifier: Apache-2.0
//
// Ends, validations and odd loaders: rows of shared/cases/trainer_cases.md,
// sections D, M and N.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/loop/tiny_run.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/bounded_source.h"
#include "worker/engine/loss/cross_entropy.h"

namespace epochd::engine {
namespace {

// Batches done (since the job began) at each validation.
std::vector<int64_t> Validations(TinyRun& run) {
  std::vector<int64_t> found;
  run.trainer->on_validation_finished.Bind([&](TrainerContext& context) {
    found.push_back(context.trainer->position().global_batch);
  });
  run.Run();
  return found;
}

// Epochs (from 1) after which a run of epochs of one batch validates.
std::vector<int64_t> EpochValidations(const ValidationPlan& plan, int epochs) {
  TinyRun run(List(Ones(1)),
              {.plan = {.max_epochs = epochs, .validation = plan},
               .val = List(Ones(1))});
  return Validations(run);
}

TEST(LoopTest, Case46HearsNoStopConditionBeforeMinEpochs) {
  TinyRun run(List(Ones(2)), {.plan = {.max_epochs = 100, .min_epochs = 5}});
  run.trainer->on_stop_check.Bind(
      [](TrainerContext& context) { context.stop = true; });
  run.Run();
  EXPECT_EQ(run.trainer->position().step, 10);
}

TEST(LoopTest, Case54LooksForAStopOnlyWhereThereWasAValidation) {
  ValidationPlan plan{.interval = 2};
  TinyRun run(List(Ones(1)), {.plan = {.max_epochs = 5, .validation = plan},
                              .monitor = "val/loss",
                              .val = List(Ones(1))});
  int checks = 0;
  run.trainer->on_stop_check.Bind([&](TrainerContext& context) {
    EXPECT_EQ(context.monitored.has_value(), context.was_validated);
    if (context.was_validated && ++checks == 2) context.stop = true;
  });
  run.Run();
  EXPECT_EQ(checks, 2);
  EXPECT_EQ(run.trainer->position().epoch, 4);  // done; the last was index 3
}

TEST(LoopTest, Case173ValidatesAfterPartsOfAnEpoch) {
  ValidationPlan plan{.fraction = 0.3, .at_end = false};
  TinyRun run(List(Ones(10)), {.plan = {.max_epochs = 2, .validation = plan},
                               .monitor = "val/loss",
                               .val = List(Ones(1))});
  EXPECT_EQ(Validations(run), (std::vector<int64_t>{3, 6, 9, 13, 16, 19}));
}

TEST(LoopTest, Case175ValidatesAtTheEndWhateverTheInterval) {
  EXPECT_EQ(EpochValidations({.begin = 1, .interval = 2}, 5),
            (std::vector<int64_t>{2, 4, 5}));
  EXPECT_EQ(EpochValidations({.begin = 3, .interval = 2}, 5),
            (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(EpochValidations({.begin = 4, .interval = 3}, 7),
            (std::vector<int64_t>{6, 7}));
  EXPECT_EQ(EpochValidations({.interval = 2, .at_end = false}, 5),
            (std::vector<int64_t>{2, 4}));
}

TEST(LoopTest, ChangesTheIntervalAtMilestones) {
  EXPECT_EQ(
      EpochValidations({.interval = 5, .dynamic_intervals = {{9, 1}}}, 12),
      (std::vector<int64_t>{5, 9, 10, 11, 12}));
}

TEST(LoopTest, Case177EndsCleanlyWhenALaterEpochHasNothing) {
  auto source = std::make_unique<ListSource>(
      [](int64_t epoch) {
        return epoch == 0 ? std::vector<Batch>{Inputs({1, 1}), Inputs({1})}
                          : std::vector<Batch>{};
      },
      kUnknownLength);
  TinyRun run(std::move(source), {.plan = {.max_epochs = 2}});
  EXPECT_EQ(run.Run(), Trainer::Outcome::kCompleted);
  EXPECT_EQ(run.trainer->position().step, 2);
  EXPECT_EQ(run.trainer->position().epoch, 2);
}

TEST(LoopTest, Case178SaysWhatAnEmptyOrEndlessLoaderNeeds) {
  EXPECT_NE(ErrorOf([] {
              TinyRun run(List({}));
            }).find("experiment.data.train: has no batch"),
            std::string::npos);
  auto endless = [] {
    return std::make_unique<ListSource>([](int64_t) { return Ones(2); },
                                        kEndless);
  };
  EXPECT_NE(ErrorOf([&] {
              TinyRun run(List(Ones(1)), {.val = endless()});
            }).find("limit_val_batches"),
            std::string::npos);
  TinyRun limited(List(Ones(1)),
                  {.monitor = "val/loss", .val = LimitBatches(endless(), 1)});
  EXPECT_EQ(limited.Run(), Trainer::Outcome::kCompleted);
  EXPECT_NE(ErrorOf([&] { TinyRun run(endless()); }).find("never ends"),
            std::string::npos);
  TinyRun counted(endless(), {.plan = {.max_batches = 7}});
  counted.Run();
  EXPECT_EQ(counted.trainer->position().step, 7);
}

TEST(LoopTest, Case126LeavesOutScoresOfAnEmptyValidation) {
  TinyRun run(
      List(Ones(1)),
      {.plan = {.max_epochs = 2}, .monitor = "val/loss", .val = List({})});
  Scores scores;
  run.trainer->on_epoch_finished.Bind([&](TrainerContext& context) {
    scores = context.scores;
    EXPECT_FALSE(context.monitored.has_value());
  });
  EXPECT_EQ(run.Run(), Trainer::Outcome::kCompleted);
  EXPECT_EQ(FindScore(scores, "val/loss"), nullptr);
  EXPECT_EQ(run.sink.Of("notice").size(), 1u);
}

TEST(LoopTest, Case185GivesEachEpochAllOfItsBatches) {
  int batches = 0;
  TinyRun run(List(Ones(3)), {.plan = {.max_epochs = 2}});
  run.runner().on_post_step.Bind([&](RunnerContext&) { ++batches; });
  run.Run();
  EXPECT_EQ(batches, 6);
}

TEST(LoopTest, Case169StopsAfterTheStepThatAsked) {
  TinyRun run(List(Ones(10)));
  bool rest_ran = false;
  run.runner().on_pre_step.Bind([](RunnerContext& context) {
    if (context.batch == 1) context.stop = true;
  });
  run.runner().on_step_metrics.Bind(
      [&](RunnerContext& context) { rest_ran = context.batch == 1; });
  run.Run();
  EXPECT_EQ(run.trainer->position().step, 2);
  EXPECT_TRUE(rest_ran);
}

TEST(LoopTest, CountsIterationsOverTheDataAgainAndAgain) {
  LoopPlan plan{.max_batches = 8, .groups_cross_epochs = true};
  plan.validation.unit = ValidationPlan::Unit::kBatches;
  plan.validation.interval = 3;
  TinyRun run(List(Ones(3)),
              {.plan = plan, .monitor = "val/loss", .val = List(Ones(1))});
  int epochs = 0;
  bool saw_partial = false;
  run.trainer->on_epoch_committed.Bind([&](TrainerContext&) { ++epochs; });
  run.trainer->on_epoch_finished.Bind([&](TrainerContext& context) {
    saw_partial |= context.trainer->position().batch == 2;
    EXPECT_NE(FindScore(context.scores, "train/loss"), nullptr);
  });
  EXPECT_EQ(Validations(run), (std::vector<int64_t>{3, 6, 8}));
  EXPECT_EQ(epochs, 2);
  EXPECT_TRUE(saw_partial);
  EXPECT_EQ(run.trainer->epochs(), 3);
  EXPECT_EQ(run.trainer->position().global_batch, 8);
}

TEST(LoopTest, EndsWhenItsTimeIsOver) {
  TinyRun run(List(Ones(100000)), {.plan = {.max_seconds = 0.01}});
  EXPECT_EQ(run.Run(), Trainer::Outcome::kCompleted);
  EXPECT_EQ(run.trainer->stop_reason(), "max_time is over");
  EXPECT_LT(run.trainer->position().step, 100000);
}

TEST(LoopTest, Case89And129ChecksBeforeTheTrainingWithoutATrace) {
  auto trained = [](int64_t sanity) {
    TinyRun run(List(Ones(3)),
                {.plan = {.max_epochs = 1, .sanity_batches = sanity},
                 .monitor = "val/loss",
                 .val = List(Ones(5))});
    int before = -1;
    run.trainer->on_training_began.Bind([&](TrainerContext& context) {
      before = run.model->forwards;
      EXPECT_TRUE(context.scores.empty());
      EXPECT_FALSE(context.monitored.has_value());
      EXPECT_EQ(run.trainer->monitor().best_epoch, -1);
    });
    run.Run();
    return std::pair(before, run.Weight());
  };
  EXPECT_EQ(trained(0), std::pair(0, 3.0));
  EXPECT_EQ(trained(2), std::pair(2, 3.0));
}

TEST(LoopTest, RefusesALoaderThatHasLessThanItSaid) {
  auto source =
      std::make_unique<ListSource>([](int64_t) { return Ones(3); }, 5);
  TinyRun run(std::move(source));
  EXPECT_NE(ErrorOf([&] { run.Run(); }).find("after 3 batches"),
            std::string::npos);
}

TEST(LoopTest, Case193ALastBatchOfOneSampleIsSaidOrLeftOut) {
  const TempFolder folder;
  WriteSafetensors(folder / "nine", {{"input", at::ones({9, 1, 4, 4})},
                                     {"target", at::arange(9).remainder(2)}});
  Json json = DigitsExperiment(1);
  json["model"] = {{"type", "ResNet"}, {"in_channels", 1}, {"num_classes", 2}};
  json["data"] = {
      {"train",
       {{"type", "TensorFile"}, {"file", folder / "nine"}, {"batch_size", 4}}}};
  json.erase("monitor");
  json.erase("metrics");
  {
    TestRun run(json);
    run.trainer().Start();
    const std::string error = ErrorOf([&] { run.trainer().Run(); });
    EXPECT_NE(error.find("more than 1 value per channel"), std::string::npos)
        << error;
    EXPECT_NE(error.find("input [1, 1, 4, 4]"), std::string::npos) << error;
  }
  json["data"]["train"]["drop_last"] = true;
  TestRun run(json);
  run.trainer().Start();
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  EXPECT_EQ(run.trainer().position().step, 2);
}

TEST(LoopTest, NamesFieldsAndShapesThatDoNotFit) {
  Json json = DigitsExperiment(1);
  json["model"]["in_features"] = 32;
  TestRun run(json);
  run.trainer().Start();
  const std::string error = ErrorOf([&] { run.trainer().Run(); });
  EXPECT_NE(error.find("model: "), std::string::npos) << error;
  EXPECT_NE(error.find("net.0.weight"), std::string::npos) << error;
  EXPECT_NE(error.find("input [128, "), std::string::npos) << error;
}

TEST(LoopTest, PostprocessesBetweenModelAndLoss) {
  Json json = DigitsExperiment(1);
  const Json shift = {
      {"type", "Normalize"}, {"mean", 5}, {"std", 2}, {"field", "output"}};
  json["runner"] = {{"type", "TrainingRunner"}, {"postprocessor", shift}};
  json["trainer"]["limit_train_batches"] = 1;
  TestRun run(json);
  int seen = 0;
  dynamic_cast<TrainingRunner&>(run.trainer().training_runner())
      .on_post_forward.Bind([&](RunnerContext& context) {
        ++seen;
        const at::Tensor& output = context.entry->At("output");
        EXPECT_TRUE(output.requires_grad());
        EXPECT_LT(output.max().item<double>(), -1.0);
      });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(seen, 1);
}

TEST(LoopTest, RepeatsDataForeverInNewOrders) {
  Json json = DigitsExperiment(3);
  json["data"]["train"]["endless"] = true;
  EXPECT_NE(ErrorOf([&] { TestRun run(json); }).find("never ends"),
            std::string::npos);
  json["trainer"]["limit_train_batches"] = 5;
  TestRun run(json);
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().step, 15);
}

TEST(LabelTest, Case188CastsInputsButNotLabelsInMixedPrecision) {
  for (const char* precision : {"bf16", "fp16"}) {
    Json json = DigitsExperiment(1);
    json["trainer"]["precision"] = precision;
    json["trainer"]["limit_train_batches"] = 2;
    json["model"]["dropout"] = 0.0;
    TestRun run(json);
    auto& runner =
        dynamic_cast<TrainingRunner&>(run.trainer().training_runner());
    runner.on_post_forward.Bind([&](RunnerContext& context) {
      EXPECT_EQ(context.entry->At("output").scalar_type(),
                std::string(precision) == "bf16" ? at::kBFloat16 : at::kHalf);
      EXPECT_EQ(context.entry->At("target").scalar_type(), at::kLong);
    });
    run.trainer().Start();
    run.trainer().Run();
    EXPECT_EQ(run.trainer().position().step, 2) << precision;
  }
}

TEST(LabelTest, Case191CountsABatchWithoutALabelAsNoLoss) {
  const CrossEntropyLoss loss({});
  at::Tensor scores = at::randn({2, 3}).requires_grad_(true);
  const at::Tensor value = loss.Compute(
      {{"output", scores}, {"target", at::full({2}, -100, at::kLong)}});
  EXPECT_EQ(value.item<double>(), 0.0);
  value.backward();
  EXPECT_TRUE(scores.grad().eq(0).all().item<bool>());
}

TEST(LabelTest, Case195DoesNotMoveFrozenParameters) {
  WeightsModel model(2);
  {
    const c10::NoGradGuard no_grad;
    model.w.fill_(1.0);
  }
  model.w.set_requires_grad(false);
  Sgd optimizer(model.Parameters(), {.lr = 1.0, .weight_decay = 0.1});
  optimizer.Step();
  EXPECT_TRUE(model.w.eq(1.0).all().item<bool>());
}

}  // namespace
}  // namespace epochd::engine
