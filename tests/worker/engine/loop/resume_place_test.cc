// SPDX-License-Identifier: Apache-2.0
//
// Where a run goes on: in validations that it was left in, in schedules of its
// length, with batches of other sizes.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::engine {
namespace {

// A snapshot after `step` steps of a run.
Snapshot SnapshotAfter(const Json& json, int64_t step) {
  return SnapshotWhen(
      json, [step](const Position& position) { return position.step == step; });
}

// Scores of validations, by the step that they came after.
std::map<int64_t, Scores> ScoresOf(TestRun& run) {
  std::map<int64_t, Scores> scores;
  run.trainer().on_validation_finished.Bind([&](TrainerContext& context) {
    scores[context.trainer->position().step] = context.scores;
  });
  run.trainer().Run();
  return scores;
}

TEST(ResumePlaceTest, AValidationThatWasLeftHasTheSameScoresWhenDoneAgain) {
  Json json = DigitsExperiment(1);
  json["trainer"] = {{"type", "IterationTrainer"},
                     {"max_iterations", 20},
                     {"val_interval", 5}};
  json["data"]["val"]["batch_size"] = 50;
  json["monitor"] = {{"metric", "train/loss"}};
  json["lr_scheduler"] = {
      {"type", "ReduceOnPlateau"}, {"monitor", "train/loss"}, {"patience", 0}};
  TestRun straight(json);
  straight.trainer().Start();
  const std::map<int64_t, Scores> expected = ScoresOf(straight);
  ASSERT_EQ(expected.size(), 4u);
  Snapshot snapshot;
  {
    TestRun run(json);
    run.trainer().validation_runner().on_post_step.Bind([&](RunnerContext&) {
      if (run.trainer().position().step == 10) run.trainer().RequestStop();
    });
    run.trainer().on_step_boundary.Bind([&](TrainerContext& context) {
      if (context.ending) snapshot = context.trainer->TakeSnapshot();
    });
    run.trainer().Start();
    EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kStopped);
    EXPECT_EQ(run.trainer().position().step, 10);
  }
  TestRun again(json);
  again.trainer().Restore(snapshot);
  std::map<int64_t, Scores> scores = ScoresOf(again);
  EXPECT_EQ(scores.size(), 3u);
  scores[5] = expected.at(5);
  EXPECT_EQ(scores, expected);
  EXPECT_TRUE(again.Weights().equal(straight.Weights()));
}

TEST(ResumePlaceTest, TheValidationAtTheEndIsMadeUpFor) {
  for (const Json& trainer : std::vector<Json>{
           {{"type", "IterationTrainer"},
            {"max_iterations", 20},
            {"val_interval", 1000}},
           {{"type", "EpochTrainer"}, {"epochs", 9}, {"max_steps", 20}},
           {{"type", "EpochTrainer"}, {"epochs", 2}}}) {
    SCOPED_TRACE(trainer.dump());
    Json json = DigitsExperiment(1);
    json["trainer"] = trainer;
    json["data"]["val"]["batch_size"] = 50;
    TestRun straight(json);
    straight.trainer().Start();
    const std::map<int64_t, Scores> expected = ScoresOf(straight);
    const int64_t last = expected.rbegin()->first;
    Snapshot snapshot;
    {
      TestRun run(json);
      run.trainer().validation_runner().on_post_step.Bind([&](RunnerContext&) {
        if (run.trainer().position().step == last) run.trainer().RequestStop();
      });
      run.trainer().on_step_boundary.Bind([&](TrainerContext& context) {
        if (context.ending) snapshot = context.trainer->TakeSnapshot();
      });
      run.trainer().Start();
      EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kStopped);
    }
    TestRun again(json);
    again.trainer().Restore(snapshot);
    const std::map<int64_t, Scores> scores = ScoresOf(again);
    ASSERT_EQ(scores.size(), 1u);
    EXPECT_EQ(*scores.begin(), *expected.rbegin());
    EXPECT_EQ(again.trainer().monitor().best,
              straight.trainer().monitor().best);
  }
}

// Groups of accumulated batches cross the epochs of an IterationTrainer.
TEST(ResumePlaceTest, AStopAtAnEpochsEndWaitsForTheGroupThatIsNotFull) {
  Json json = DigitsExperiment(1);
  json["trainer"] = {{"type", "IterationTrainer"},
                     {"max_iterations", 40},
                     {"val_interval", 12}};
  json["data"]["val"]["batch_size"] = 50;
  json["runner"] = {{"type", "TrainingRunner"},
                    {"gradient_accumulation_steps", 5}};
  TestRun straight(json);
  straight.trainer().Start();
  straight.trainer().Run();
  for (const bool in_validation : {false, true}) {
    Snapshot snapshot;
    TestRun run(json);
    if (in_validation) {
      run.trainer().validation_runner().on_post_step.Bind(
          [&](RunnerContext&) { run.trainer().RequestStop(); });
    } else {
      run.trainer().on_epoch_finished.Bind(
          [&](TrainerContext&) { run.trainer().RequestStop(); });
    }
    const auto keep = [&](TrainerContext& context) {
      if (context.ending) snapshot = context.trainer->TakeSnapshot();
    };
    run.trainer().on_step_boundary.Bind(keep);
    run.trainer().on_epoch_committed.Bind(keep);
    run.trainer().Start();
    EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kStopped);
    EXPECT_EQ(run.trainer().position().global_batch, 15);
    TestRun again(json);
    again.trainer().Restore(snapshot);
    again.trainer().Run();
    EXPECT_TRUE(again.Weights().equal(straight.Weights())) << in_validation;
  }
}

double RateOf(TestRun& run) {
  return run.trainer()
      .training_runner()
      .Optimizers()
      .front()
      .second->groups()
      .front()
      .lr;
}

// As with twice the ranks: an epoch has 23 batches and not 12.
TEST(ResumePlaceTest, SchedulesOfTheRunsLengthGoOnWhereTheRunStands) {
  const std::vector<Json> schedules = {
      {{"type", "OneCycle"}, {"max_lr", 0.01}, {"by", "iteration"}},
      {{"type", "CosineAnnealing"}, {"by", "iteration"}},
      {{"type", "PolyLR"}, {"by", "step"}},
      {{"type", "MultiStep"},
       {"milestones", {1, 3}},
       {"convert_to_iter_based", true}},
      {{"type", "SequentialLR"},
       {"by", "iteration"},
       {"milestones", {5}},
       {"schedulers",
        {{{"type", "ConstantLR"},
          {"factor", 0.5},
          {"total_iters", 4},
          {"by", "iteration"}},
         {{"type", "CosineAnnealing"}, {"by", "iteration"}}}}}};
  for (const Json& schedule : schedules) {
    SCOPED_TRACE(schedule.dump());
    Json json = DigitsExperiment(4);
    json["lr_scheduler"] = schedule;
    Json finer = json;
    finer["data"]["train"]["batch_size"] = 64;
    TestRun straight(finer);
    straight.trainer().Restore(SnapshotAfter(finer, 2 * 23 + 6));
    TestRun run(finer);
    run.trainer().Restore(SnapshotAfter(json, 2 * 12 + 3));
    EXPECT_EQ(RateOf(run), RateOf(straight));
    EXPECT_EQ(run.trainer().total_batches(), 27 + 4 * 23 - (2 * 23 + 6));
    run.trainer().Run();
    straight.trainer().Run();
    EXPECT_EQ(RateOf(run), RateOf(straight));
    EXPECT_EQ(run.trainer().position().step, 27 + 4 * 23 - (2 * 23 + 6));
    // And once more, with the batches as they are by now.
    TestRun again(finer);
    again.trainer().Restore(run.trainer().TakeSnapshot());
    EXPECT_EQ(again.trainer().total_batches(),
              again.trainer().position().global_batch);
    EXPECT_EQ(RateOf(again), RateOf(run));
  }
}

// Whatever ends the run, and whatever the schedule counts.
TEST(ResumePlaceTest, SchedulesGoOnInRunsThatEndByStepsOrIterations) {
  for (const Json& trainer : std::vector<Json>{
           {{"type", "EpochTrainer"}, {"epochs", 4}, {"max_steps", 100000}},
           {{"type", "EpochTrainer"}, {"epochs", 100}, {"max_steps", 48}},
           {{"type", "EpochTrainer"}, {"max_steps", 48}},
           {{"type", "IterationTrainer"}, {"max_steps", 48}},
           {{"type", "IterationTrainer"}, {"max_iterations", 48}}}) {
    for (const char* unit : {"epoch", "iteration", "step"}) {
      for (const auto& [before, after] : {std::pair{128, 64}, {64, 128}}) {
        SCOPED_TRACE(trainer.dump() + unit + std::to_string(before));
        Json json = DigitsExperiment(1);
        json["trainer"] = trainer;
        json["lr_scheduler"] = {
            {"type", "OneCycle"}, {"max_lr", 0.01}, {"by", unit}};
        json["data"]["train"]["batch_size"] = before;
        const Snapshot snapshot = SnapshotAfter(json, 30);
        json["data"]["train"]["batch_size"] = after;
        TestRun run(json);
        run.trainer().Restore(snapshot);
        // 30 of 48: it goes down.
        const double rate = RateOf(run);
        EXPECT_LT(rate, 0.0098);
        EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
        EXPECT_LT(RateOf(run), rate / 2);
        if (run.trainer().epochs() >= 0) {
          EXPECT_GE(run.trainer().epochs(), run.trainer().position().epoch);
        }
      }
    }
  }
}

// One that had come to its end, at a rate of 0, too.
TEST(ResumePlaceTest, SchedulesOfARunThatIsMadeLongerEndLater) {
  for (const char* unit : {"epoch", "iteration", "step"}) {
    SCOPED_TRACE(unit);
    Json json = DigitsExperiment(2);
    json["lr_scheduler"] = {{"type", "CosineAnnealing"}, {"by", unit}};
    Snapshot end;
    {
      TestRun run(json);
      run.trainer().on_epoch_committed.Bind([&](TrainerContext& context) {
        end = context.trainer->TakeSnapshot();
      });
      run.trainer().Start();
      run.trainer().Run();
      EXPECT_NEAR(RateOf(run), 0, 1e-9);
    }
    json["trainer"]["epochs"] = 4;
    TestRun longer(json);
    longer.trainer().Restore(end);
    EXPECT_NEAR(RateOf(longer), 0.0015, 1e-9);
    longer.trainer().Run();
    EXPECT_EQ(longer.trainer().position().epoch, 4);
    EXPECT_NEAR(RateOf(longer), 0, 1e-9);
  }
}

TEST(ResumePlaceTest, SchedulesByStepGoOnInGroupsOfAnotherSize) {
  Json json = DigitsExperiment(4);
  json["lr_scheduler"] = {
      {"type", "OneCycle"}, {"max_lr", 0.01}, {"by", "step"}};
  json["runner"] = {{"type", "TrainingRunner"},
                    {"gradient_accumulation_steps", 2}};
  const Snapshot snapshot = SnapshotAfter(json, 2 * 6 + 2);
  json["runner"]["gradient_accumulation_steps"] = 4;
  TestRun straight(json);
  straight.trainer().Restore(SnapshotAfter(json, 2 * 3 + 1));
  TestRun run(json);
  run.trainer().Restore(snapshot);
  EXPECT_EQ(RateOf(run), RateOf(straight));
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
}

// Saved behind its last batch, in the validation of its end.
TEST(ResumePlaceTest, AWholeEpochIsWholeForOtherRanksToo) {
  Json json = DigitsExperiment(2);
  json["data"]["train"]["batch_size"] = 100;
  json["data"]["val"]["batch_size"] = 50;
  Snapshot snapshot;
  {
    TestRun run(json);
    run.trainer().validation_runner().on_post_step.Bind(
        [&](RunnerContext&) { run.trainer().RequestStop(); });
    run.trainer().on_step_boundary.Bind([&](TrainerContext& context) {
      if (context.ending) snapshot = context.trainer->TakeSnapshot();
    });
    run.trainer().Start();
    EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kStopped);
    EXPECT_EQ(run.trainer().position().batch, 15);
  }
  json["data"]["train"]["batch_size"] = 200;
  TestRun run(json);
  run.trainer().Restore(snapshot);
  EXPECT_EQ(run.trainer().position().batch, 8);
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().epoch, 2);
  EXPECT_EQ(run.trainer().position().step, 15 + 8);
}

TEST(ResumePlaceTest, WhatAPlateauLoweredStaysWhenAScheduleIsMoved) {
  Json json = DigitsExperiment(4);
  json["lr_scheduler"] = {{{"type", "LinearLR"},
                           {"start_factor", 0.1},
                           {"end", 3},
                           {"convert_to_iter_based", true}},
                          // Every epoch behind the first is a bad one.
                          {{"type", "ReduceOnPlateau"},
                           {"monitor", "val/loss"},
                           {"patience", 0},
                           {"threshold", 0.999},
                           {"factor", 0.5}}};
  Json finer = json;
  finer["data"]["train"]["batch_size"] = 64;
  TestRun straight(finer);
  straight.trainer().Restore(SnapshotAfter(finer, 2 * 23 + 6));
  TestRun run(finer);
  run.trainer().Restore(SnapshotAfter(json, 2 * 12 + 3));
  EXPECT_NEAR(RateOf(run), RateOf(straight), 1e-12);
  EXPECT_LT(RateOf(run), 0.0015);
  run.trainer().Run();
  straight.trainer().Run();
  EXPECT_NEAR(RateOf(run), RateOf(straight), 1e-12);
}

TEST(ResumePlaceTest, SchedulesOfTheirOwnLengthCountOn) {
  for (const Json& schedule : std::vector<Json>{
           {{"type", "ExponentialLR"}, {"gamma", 0.9}, {"by", "iteration"}},
           {{"type", "MultiStep"},
            {"milestones", {20, 90}},
            {"by", "iteration"}},
           {{"type", "CosineAnnealing"}, {"t_max", 30}, {"by", "iteration"}}}) {
    SCOPED_TRACE(schedule.dump());
    Json json = DigitsExperiment(4);
    json["lr_scheduler"] = schedule;
    const Snapshot snapshot = SnapshotAfter(json, 27);
    TestRun before(json);
    before.trainer().Restore(snapshot);
    json["data"]["train"]["batch_size"] = 64;
    TestRun run(json);
    run.trainer().Restore(snapshot);
    EXPECT_EQ(RateOf(run), RateOf(before));
  }
}

}  // namespace
}  // namespace epochd::engine
