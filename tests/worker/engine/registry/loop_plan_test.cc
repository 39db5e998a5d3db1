// SPDX-License-Identifier: Apache-2.0
//
// What a job file says of the loop, as the trainer has it.
#include "worker/engine/registry/loop_plan.h"

#include <gtest/gtest.h>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"

namespace epochd::engine {
namespace {

Json With(const Json& trainer) {
  Json json = DigitsExperiment(1);
  json["trainer"].merge_patch(trainer);
  return json;
}

std::string WhyRefused(const Json& trainer) {
  return BadSpecOf([&] { TestRun run(With(trainer)); });
}

TEST(LoopPlanTest, ReadsEpochsAndWhenToValidate) {
  TestRun run(With({{"epochs", 7},
                    {"max_steps", 100},
                    {"max_time", "2h"},
                    {"min_epochs", 2},
                    {"val_begin", 3},
                    {"val_interval", 2},
                    {"dynamic_intervals", {{5, 1}}},
                    {"val_at_end", false}}));
  const LoopPlan& plan = run.trainer().plan();
  EXPECT_EQ(plan.max_epochs, 7);
  EXPECT_EQ(plan.max_steps, 100);
  EXPECT_EQ(plan.max_seconds, 7200.0);
  EXPECT_EQ(plan.min_epochs, 2);
  EXPECT_EQ(plan.validation.begin, 3);
  EXPECT_EQ(plan.validation.IntervalAt(4), 2);
  EXPECT_EQ(plan.validation.IntervalAt(5), 1);
  EXPECT_FALSE(plan.validation.at_end);
}

TEST(LoopPlanTest, EpochsAreOneWhereNothingElseEndsTheRun) {
  const auto plan_of = [](const Json& given) {
    Json json = DigitsExperiment(1);
    json["trainer"] = given;
    TestRun run(json);
    return run.trainer().plan();
  };
  EXPECT_EQ(plan_of({{"type", "EpochTrainer"}}).max_epochs, 1);
  const LoopPlan by_steps =
      plan_of({{"type", "EpochTrainer"}, {"max_steps", 30}});
  EXPECT_EQ(by_steps.max_epochs, std::nullopt);
  EXPECT_EQ(by_steps.max_steps, 30);
  EXPECT_EQ(plan_of({{"type", "EpochTrainer"}, {"max_time", "1s"}}).max_epochs,
            std::nullopt);
  Json json = DigitsExperiment(1);
  json["trainer"] = {{"type", "EpochTrainer"}, {"max_steps", 30}};
  TestRun run(json);
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().step, 30);
  EXPECT_EQ(run.trainer().position().epoch, 2);
}

TEST(LoopPlanTest, ReadsIterations) {
  Json json = DigitsExperiment(1);
  json["trainer"] = {{"type", "IterationTrainer"},
                     {"max_iterations", 20},
                     {"val_interval", 8}};
  TestRun run(json);
  EXPECT_TRUE(run.trainer().plan().groups_cross_epochs);
  std::vector<int64_t> validations;
  run.trainer().on_validation_finished.Bind([&](TrainerContext& context) {
    validations.push_back(context.trainer->position().global_batch);
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(validations, (std::vector<int64_t>{8, 16, 20}));
  EXPECT_EQ(run.trainer().position().step, 20);
}

TEST(LoopPlanTest, TakesPartsOfTheData) {
  // 12 batches an epoch.
  TestRun share(With({{"limit_train_batches", 0.5}}));
  EXPECT_EQ(share.trainer().train().NumBatches(), 6);
  TestRun count(With({{"limit_train_batches", 2}, {"limit_val_batches", 1}}));
  EXPECT_EQ(count.trainer().train().NumBatches(), 2);
  EXPECT_EQ(count.trainer().val()->NumBatches(), 1);
  TestRun none(With({{"limit_val_batches", 0}}));
  EXPECT_EQ(none.trainer().val(), nullptr);
  EXPECT_NE(WhyRefused({{"limit_train_batches", 1.5}})
                .find("experiment.trainer.limit_train_batches"),
            std::string::npos);
}

TEST(LoopPlanTest, OverfitsOnTheFirstBatchesAlone) {
  TestRun run(With({{"overfit_batches", 2}}));
  EXPECT_EQ(run.trainer().train().NumBatches(), 2);
  EXPECT_EQ(run.trainer().val()->NumBatches(), 2);
}

TEST(LoopPlanTest, TriesEveryPartOnce) {
  TestRun run(With({{"epochs", 50}, {"fast_dev_run", true}}));
  EXPECT_TRUE(run.experiment.is_trial);
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().step, 1);
  EXPECT_EQ(run.trainer().val()->NumBatches(), 1);
}

TEST(LoopPlanTest, Case187TakesWholeNumbersHoweverTheyAreWritten) {
  TestRun run(With({{"epochs", 2.0}}));
  EXPECT_EQ(run.trainer().epochs(), 2);
  EXPECT_NE(WhyRefused({{"epochs", 2.5}}).find("experiment.trainer.epochs"),
            std::string::npos);
}

TEST(LoopPlanTest, SaysWhatIsWrong) {
  EXPECT_NE(WhyRefused({{"val_interval", 1.5}}).find("val_interval"),
            std::string::npos);
  EXPECT_NE(WhyRefused({{"dynamic_intervals", {{5, 1}, {3, 1}}}})
                .find("milestones ascending"),
            std::string::npos);
  EXPECT_NE(WhyRefused({{"val_interval", 0.5}, {"dynamic_intervals", {{2, 3}}}})
                .find("dynamic_intervals: beside a val_interval of 0.5"),
            std::string::npos);
  EXPECT_NE(WhyRefused({{"fast_dev_run", "yes"}}).find("fast_dev_run"),
            std::string::npos);
}

}  // namespace
}  // namespace epochd::engine
