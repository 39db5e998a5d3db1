// SPDX-License-Identifier: Apache-2.0
//
// Ends, validations and odd loaders: rows of shared/cases/trainer_cases.md,
// sections D, M and N.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hooks/early_stopping.h"
#include "tests/worker/engine/loop/tiny_run.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/bounded_source.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/schedule/plateau.h"

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

Schedules Plateau(const PlateauScheduler::Options& options) {
  return Schedules({{"", std::make_shared<PlateauScheduler>(options), "here"}});
}

LoopPlan Iterations(int64_t max, int64_t val_interval) {
  LoopPlan plan{.max_batches = max, .groups_cross_epochs = true};
  plan.validation.unit = ValidationPlan::Unit::kBatches;
  plan.validation.interval = val_interval;
  return plan;
}

TEST(LoopTest, Case46HearsNoStopConditionBeforeMinEpochs) {
  TinyRun run(List(Ones(2)), {.plan = {.max_epochs = 100, .min_epochs = 5}});
  run.trainer->on_stop_check.Bind(
      [](TrainerContext& context) { context.stop = true; });
  run.Run();
  EXPECT_EQ(run.trainer->position().step, 10);
}

TEST(LoopTest, Case28AnEpochThatMaxStepsCutsShortStepsNoSchedule) {
  Json json = DigitsExperiment(3);
  json["trainer"]["max_steps"] = 12 + 6;
  TestRun run(json);
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().step, 18);
  // One of the two epochs came to its end.
  EXPECT_DOUBLE_EQ(
      run.trainer().training_runner().Optimizers().front().second->lr(),
      0.003 * 0.7);
}

TEST(LoopTest, HearsNoStopOfAStepBeforeMinEpochs) {
  TinyRun run(List(Ones(2)), {.plan = {.max_epochs = 100, .min_epochs = 5}});
  run.runner().on_post_step.Bind(
      [](RunnerContext& context) { context.stop = true; });
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
  TinyRun run(List(Ones(1)), {.plan = {.max_epochs = 2},
                              .monitor = "val/loss",
                              .val = List({}),
                              .schedules = Plateau({.patience = 0})});
  run.trainer->AddHook(std::make_shared<hooks::EarlyStopping>(
      hooks::EarlyStopping::Options{.metric = "val/loss", .strict = true}));
  Scores scores;
  run.trainer->on_epoch_finished.Bind([&](TrainerContext& context) {
    scores = context.scores;
    EXPECT_FALSE(context.monitored.has_value());
  });
  EXPECT_EQ(run.Run(), Trainer::Outcome::kCompleted);
  EXPECT_EQ(FindScore(scores, "val/loss"), nullptr);
  EXPECT_EQ(run.sink.Of("notice").size(), 1u);
  EXPECT_EQ(run.trainer->position().epoch, 2);
  EXPECT_EQ(run.Rate(), 1.0);
}

TEST(LoopTest, Case126AlsoWithinAnEpoch) {
  TinyRun run(List(Ones(4)), {.plan = Iterations(8, 3),
                              .monitor = "val/loss",
                              .val = List({}),
                              .schedules = Plateau({.patience = 0})});
  run.trainer->AddHook(std::make_shared<hooks::EarlyStopping>(
      hooks::EarlyStopping::Options{.metric = "val/loss", .strict = true}));
  EXPECT_EQ(run.Run(), Trainer::Outcome::kCompleted);
  EXPECT_EQ(run.Rate(), 1.0);
}

TEST(LoopTest, APlateauIsLookedForAtEachValidationOnce) {
  // No validation is better than the first.
  const PlateauScheduler::Options options{
      .maximize = true, .factor = 0.5, .patience = 0, .eps = 0};
  TinyRun run(List(Ones(10)), {.plan = Iterations(58, 5),
                               .monitor = "val/loss",
                               .val = List(Ones(1)),
                               .schedules = Plateau(options)});
  std::vector<double> rates;
  run.trainer->on_stop_check.Bind(
      [&](TrainerContext&) { rates.push_back(run.Rate()); });
  run.Run();
  // The last of the twelve is that of the run's end.
  ASSERT_EQ(rates.size(), 12u);
  for (size_t i = 0; i < 11; ++i) EXPECT_EQ(rates[i], std::pow(0.5, i)) << i;
  // With parts of an epoch.
  LoopPlan halves{.max_epochs = 3};
  halves.validation.fraction = 0.5;
  TinyRun parts(List(Ones(10)), {.plan = halves,
                                 .monitor = "val/loss",
                                 .val = List(Ones(1)),
                                 .schedules = Plateau(options)});
  parts.Run();
  EXPECT_EQ(parts.Rate(), std::pow(0.5, 5));
}

TEST(LoopTest, WhatIsMeasuredWithinAGroupOfBatchesIsNotTheBest) {
  TinyRun run(List(Ones(6)),
              {.plan = {.max_epochs = 3, .groups_cross_epochs = true},
               .runner = {.update = {.accumulation = 4}},
               .monitor = "val/loss",
               .val = List(Ones(1))});
  std::vector<bool> best;
  run.trainer->on_epoch_finished.Bind(
      [&](TrainerContext& context) { best.push_back(context.is_best); });
  run.Run();
  EXPECT_EQ(best, (std::vector<bool>{false, true, true}));
  // Also within an epoch.
  TinyRun within(List(Ones(40)), {.plan = Iterations(40, 5),
                                  .runner = {.update = {.accumulation = 4}},
                                  .monitor = "val/loss",
                                  .val = List(Ones(1))});
  std::vector<int64_t> bests;
  within.trainer->on_validation_finished.Bind([&](TrainerContext& context) {
    if (context.is_best) {
      bests.push_back(context.trainer->position().global_batch);
    }
  });
  within.Run();
  EXPECT_EQ(bests, (std::vector<int64_t>{20, 40}));
}

TEST(LoopTest, AValidationDueAtTheBatchThatEndsTheRunTakesPlace) {
  LoopPlan batches = Iterations(14, 7);
  batches.validation.at_end = false;
  TinyRun by_batches(List(Ones(23)), {.plan = batches, .val = List(Ones(1))});
  EXPECT_EQ(Validations(by_batches), (std::vector<int64_t>{7, 14}));
  LoopPlan parts{.max_epochs = 3, .max_steps = 15};
  parts.validation.fraction = 0.5;
  parts.validation.at_end = false;
  TinyRun by_parts(List(Ones(10)), {.plan = parts, .val = List(Ones(1))});
  EXPECT_EQ(Validations(by_parts), (std::vector<int64_t>{5, 10, 15}));
}

TEST(LoopTest, ALossOfTrainingIsComparedAtValidationsByBatchesAlone) {
  // It falls by 1 a batch; the whole epoch's mean is above the last part's.
  for (const char* metric : {"", "train/loss"}) {
    TinyRun run(List(Ones(10)),
                {.plan = Iterations(20, 4), .val = List(Ones(1))});
    run.trainer->AddHook(
        std::make_shared<hooks::EarlyStopping>(hooks::EarlyStopping::Options{
            .rule = {.kind = hooks::StopRule::Kind::kLightning, .patience = 1},
            .metric = metric}));
    run.Run();
    EXPECT_EQ(run.trainer->position().step, 20) << metric;
  }
}

TEST(LoopTest, ALossOfTrainingIsNotLookedForWithinAnEpoch) {
  LoopPlan halves{.max_epochs = 2};
  halves.validation.fraction = 0.5;
  TinyRun run(List(Ones(10)), {.plan = halves, .val = List(Ones(1))});
  run.trainer->AddHook(
      std::make_shared<hooks::EarlyStopping>(hooks::EarlyStopping::Options{
          .rule = {.kind = hooks::StopRule::Kind::kLightning, .patience = 1},
          .metric = "train/loss",
          .strict = true}));
  EXPECT_EQ(ErrorOf([&] { run.Run(); }), "");
  EXPECT_EQ(run.trainer->position().step, 20);
}

TEST(LoopTest, Case46AnEpochIsDoneForMinEpochsWhenItIsWhole) {
  LoopPlan quarters{.max_epochs = 4};
  quarters.validation.fraction = 0.25;
  for (const bool by_steps : {false, true}) {
    TinyRun run(List(Ones(8)),
                {.plan = quarters, .lr = 0, .val = List(Ones(1))});
    hooks::EarlyStopping::Options options{
        .rule = {.kind = hooks::StopRule::Kind::kLightning, .patience = 0},
        .metric = by_steps ? "train/loss" : "val/loss",
        .min_epochs = 2};
    if (by_steps) options.every_steps = 1;
    run.trainer->AddHook(std::make_shared<hooks::EarlyStopping>(options));
    run.Run();
    EXPECT_EQ(run.trainer->position().step, 16) << by_steps;
  }
}

TEST(LoopTest, ALossOfTrainingIsThatOfTheWholeEpoch) {
  std::vector<Batch> batches;
  for (const double x : {1.0, 2.0, 3.0, 6.0}) batches.push_back(Inputs({x}));
  TinyRun run(List(batches),
              {.plan = Iterations(8, 3), .lr = 0, .val = List(Ones(1))});
  run.model->w.detach().fill_(1);
  std::vector<double> within, whole;
  run.trainer->on_validation_finished.Bind([&](TrainerContext& context) {
    if (context.is_mid_epoch) {
      within.push_back(*FindScore(context.scores, "train/loss"));
    }
  });
  run.trainer->on_epoch_finished.Bind([&](TrainerContext& context) {
    whole.push_back(*FindScore(context.scores, "train/loss"));
  });
  run.Run();
  EXPECT_EQ(within, (std::vector<double>{-2, -1.5}));
  EXPECT_EQ(whole, (std::vector<double>{-3, -3}));
}

TEST(LoopTest, CountsSamplesThatAreTrainedByTheTimeOfTraining) {
  const auto endless = [] {
    return std::make_unique<ListSource>([](int64_t) { return Ones(2); },
                                        kEndless);
  };
  const auto trained = [](std::unique_ptr<BatchSource> train,
                          TinyRun::Options options) {
    TinyRun run(std::move(train), std::move(options));
    double samples = 0;
    run.trainer->on_epoch_finished.Bind([&](TrainerContext& context) {
      samples = context.samples_per_second * context.seconds;
    });
    run.Run();
    return samples;
  };
  EXPECT_NEAR(trained(endless(), {.plan = {.max_batches = 7}}), 7, 1e-6);
  EXPECT_NEAR(trained(List(Ones(9)), {.plan = {.max_batches = 4}}), 4, 1e-6);
  // A validation within is no part of it.
  EXPECT_GT(
      trained(List(Ones(4)), {.plan = Iterations(4, 3), .val = List(Ones(9))}),
      4.0);
}

TEST(LoopTest, DoesNotWaitForeverForABatch) {
  const auto empty = [] {
    return std::make_unique<ListSource>(
        [](int64_t epoch) { return Ones(epoch == 0 ? 2 : 0); }, kUnknownLength);
  };
  for (const LoopPlan& plan :
       {LoopPlan{.max_batches = 5}, LoopPlan{.max_steps = 5},
        LoopPlan{.max_seconds = 1e6}}) {
    EXPECT_NE(ErrorOf([&] {
                TinyRun run(empty(), {.plan = plan});
                run.Run();
              }).find("has no batch in epoch 2"),
              std::string::npos);
  }
}

TEST(LoopTest, ThePassThatARunEndsInIsOver) {
  int ends = 0;
  const auto run = [&](LoopPlan plan, bool stops) {
    TinyRun tiny(List(Ones(5)), {.plan = plan});
    ends = 0;
    tiny.runner().on_epoch_end.Bind([&](RunnerContext&) { ++ends; });
    tiny.runner().on_post_step.Bind([&](RunnerContext&) {
      if (stops) tiny.trainer->RequestStop();
    });
    return tiny.Run();
  };
  run({.max_epochs = 2, .max_steps = 3}, false);
  EXPECT_EQ(ends, 1);
  run({.max_batches = 8}, false);
  EXPECT_EQ(ends, 2);
  // It goes on another time.
  EXPECT_EQ(run({.max_epochs = 1}, true), Trainer::Outcome::kStopped);
  EXPECT_EQ(ends, 0);
}

class NamedLoss : public MinusMean {
 public:
  explicit NamedLoss(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
};

TEST(LoopTest, NoPartIsCalledAsTheSumOfLosses) {
  EXPECT_NE(ErrorOf([] {
              Criterion({std::make_shared<NamedLoss>("loss")});
            }).find("\"loss\" is what the sum of losses is called"),
            std::string::npos);
}

TEST(LoopTest, NoTwoScoresHaveOneName) {
  const auto problem = [](const Json& changes) {
    return ErrorOf([&] {
      Json job = DigitsExperiment(1);
      job.update(changes);
      TestRun run(job);
      run.trainer().Start();
      run.trainer().Run();
    });
  };
  const Json macro{{"type", "F1"}, {"average", "macro"}};
  const Json micro{{"type", "F1"}, {"average", "micro"}};
  EXPECT_NE(
      problem({{"metrics", {{{"type", "Accuracy"}}, macro, micro}}}).find("f1"),
      std::string::npos);
  const Json loss{{"type", "CrossEntropy"}};
  Json accuracy = loss;
  accuracy["name"] = "accuracy";
  EXPECT_NE(problem({{"loss", {loss, accuracy}}}).find("\"accuracy\", too"),
            std::string::npos);
  // One that only the run tells.
  EXPECT_NE(
      ErrorOf([] {
        TestRun run(DigitsExperiment(1));
        run.trainer().validation_runner().on_post_step.Bind(
            [](RunnerContext& context) { context.AddMetric("accuracy", 1.0); });
        run.trainer().Start();
        run.trainer().Run();
      }).find("score \"val/accuracy\": two"),
      std::string::npos);
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

// So what goes by epochs (checkpoints, pictures, lines of a log) has its
// places.
TEST(LoopTest, EpochsOfATrainerThatCountsBatchesArePassesOfEndlessData) {
  Json json = DigitsExperiment(1);
  json["trainer"] = {{"type", "IterationTrainer"}, {"max_iterations", 30}};
  std::vector<at::Tensor> weights;
  for (const Json& endless : std::vector<Json>{
           Json::object(),
           {{"endless", true}},
           {{"sampler", {{"type", "InfiniteSampler"}, {"shuffle", true}}},
            {"shuffle", false}}}) {
    Json own = json;
    own["data"]["train"].update(endless);
    TestRun run(own);
    int ends = 0;
    run.trainer().on_epoch_finished.Bind([&](TrainerContext&) { ++ends; });
    run.trainer().Start();
    run.trainer().Run();
    EXPECT_EQ(run.trainer().position().step, 30);
    EXPECT_EQ(run.trainer().position().epoch, 2);
    EXPECT_EQ(run.trainer().epochs(), 3);
    EXPECT_GE(ends, 2);
    weights.push_back(run.Weights());
  }
  EXPECT_TRUE(weights[1].equal(weights[0]));
  EXPECT_TRUE(weights[2].equal(weights[0]));
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
