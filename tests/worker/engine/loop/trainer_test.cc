// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/loop/tiny_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::engine {
namespace {

// Writes down each point that fires, shortened to one line a batch.
class Tracer : public Hook {
 public:
  const char* name() const override { return "Tracer"; }
  void AttachToTrainer(Trainer& trainer) override {
    Note(trainer.on_training_began, "began");
    Note(trainer.on_epoch_finished, "finished");
    Note(trainer.on_stop_check, "stop_check");
    Note(trainer.on_epoch_committed, "committed");
    Note(trainer.on_step_boundary, "boundary");
    Note(trainer.on_training_ended, "ended");
  }
  void AttachToTraining(TrainingRunner& runner) override {
    Note(runner.on_epoch_start, "train_start");
    Note(runner.on_pre_step, "pre_step");
    Note(runner.on_post_forward, "post_forward");
    Note(runner.on_post_backward, "post_backward");
    Note(runner.on_post_step, "post_step");
    Note(runner.on_epoch_end, "train_end");
  }
  void AttachToValidation(ValidationRunner& runner) override {
    Note(runner.on_epoch_start, "val_start");
    Note(runner.on_post_step, "val_step");
    Note(runner.on_epoch_end, "val_end");
  }

  std::vector<std::string> trace;

 private:
  template <class Context>
  void Note(HookPoint<Context>& point, const char* name) {
    point.Bind([this, name](Context&) { trace.push_back(name); });
  }
};

TEST(TrainerTest, FiresPointsInTheOrderOfTheLifecycle) {
  Json json = DigitsExperiment(1);
  json["data"]["train"]["batch_size"] = 1000;  // two batches
  json["data"]["val"]["batch_size"] = 1000;    // one
  TestRun run(json);
  auto tracer = std::make_shared<Tracer>();
  run.trainer().AddHook(tracer);
  run.trainer().Start();
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  const std::vector<std::string> expected = {
      "began",     "train_start", "pre_step",   "post_forward", "post_backward",
      "post_step", "boundary",    "pre_step",   "post_forward", "post_backward",
      "post_step", "boundary",    "train_end",  "val_start",    "val_step",
      "val_end",   "finished",    "stop_check", "committed",    "ended"};
  EXPECT_EQ(tracer->trace, expected);
}

TEST(TrainerTest, NamesAndWeighsScores) {
  Json json = DigitsExperiment(1);
  json["loss"] = Json::parse(
      R"([{"type": "CrossEntropy"}, {"type": "CrossEntropy", "weight": 0.5}])");
  TestRun run(json);
  Scores scores;
  run.trainer().on_epoch_finished.Bind(
      [&](TrainerContext& context) { scores = context.scores; });
  run.trainer().Start();
  run.trainer().Run();
  ASSERT_NE(FindScore(scores, "train/loss"), nullptr);
  ASSERT_NE(FindScore(scores, "val/accuracy"), nullptr);
  const double* first = FindScore(scores, "val/cross_entropy");
  const double* second = FindScore(scores, "val/cross_entropy_2");
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_DOUBLE_EQ(*first, *second);
  EXPECT_NEAR(*FindScore(scores, "val/loss"), 1.5 * *first, 1e-5);
}

TEST(TrainerTest, StepsTheRateBeforeTheCheckpointIsTaken) {
  TestRun run(DigitsExperiment(2));
  std::vector<double> in_epoch;
  std::vector<double> saved;
  run.trainer().on_epoch_finished.Bind([&](TrainerContext& context) {
    in_epoch.push_back(
        context.trainer->training_runner().Optimizers()[0].second->lr());
  });
  run.trainer().on_epoch_committed.Bind([&](TrainerContext& context) {
    saved.push_back(context.trainer->TakeSnapshot()
                        .json["optimizers"]["optimizer"][0]["lr"]
                        .get<double>());
  });
  run.trainer().Start();
  run.trainer().Run();
  ASSERT_EQ(in_epoch.size(), 2u);
  EXPECT_DOUBLE_EQ(in_epoch[0], 0.003);
  EXPECT_DOUBLE_EQ(saved[0], 0.003 * 0.7);
  EXPECT_DOUBLE_EQ(in_epoch[1], saved[0]);
}

TEST(TrainerTest, EndsWhenAStopConditionSaysSo) {
  TestRun run(DigitsExperiment(10));
  run.trainer().on_stop_check.Bind([](TrainerContext& context) {
    context.stop = context.epoch == 1;
    context.stop_reason = "enough";
  });
  run.trainer().Start();
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  EXPECT_EQ(run.trainer().position().epoch, 2);
  EXPECT_EQ(run.trainer().stop_reason(), "enough");
}

TEST(TrainerTest, LeavesAtTheNextStepWhenAskedToStop) {
  TestRun run(DigitsExperiment(10));
  int boundaries = 0;
  bool last_was_ending = false;
  run.trainer().on_step_boundary.Bind([&](TrainerContext& context) {
    if (++boundaries == 3) context.trainer->RequestStop();
    last_was_ending = context.ending;
  });
  run.trainer().Start();
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kStopped);
  EXPECT_EQ(run.trainer().position().step, 4);
  EXPECT_TRUE(last_was_ending);
}

TEST(TrainerTest, NamesTheScoresWhenTheMonitoredOneIsMissing) {
  Json json = DigitsExperiment(1);
  // No gradient is clipped in validation, which only the run shows.
  json["hooks"] = {
      {{"type", "GradientClip"}, {"max_norm", 1.0}, {"scope", "val"}}};
  json["monitor"]["metric"] = "train/grad_norm";
  TestRun run(json);
  run.trainer().Start();
  try {
    run.trainer().Run();
    FAIL() << "a metric that is not measured was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("val/accuracy"),
              std::string::npos);
  }
}

TEST(MonitorTest, NeverTakesNanForTheBest) {
  Monitor monitor{.metric = "val/loss"};
  EXPECT_FALSE(monitor.Update(NAN, 0));
  EXPECT_TRUE(monitor.Update(2.0, 1));
  EXPECT_FALSE(monitor.Update(NAN, 2));
  EXPECT_FALSE(monitor.Update(2.0, 3));
  EXPECT_TRUE(monitor.Update(1.0, 4));
  EXPECT_EQ(monitor.best_epoch, 4);
}

// One step in four is left out: told at the first, and when they doubled.
TEST(TrainerTest, TellsOfStepsThatWereLeftOut) {
  std::vector<Batch> batches = Ones(3);
  batches.push_back(Inputs({std::nan("")}));
  TinyRun run(std::make_unique<ListSource>(batches),
              {.plan = {.max_epochs = 4}});
  std::vector<double> skipped;
  run.trainer->on_epoch_finished.Bind([&](TrainerContext& context) {
    const double* value = FindScore(context.scores, "train/skipped_steps");
    skipped.push_back(value == nullptr ? 0 : *value);
  });
  EXPECT_EQ(run.Run(), Trainer::Outcome::kCompleted);
  EXPECT_EQ(skipped, (std::vector<double>{1, 2, 3, 4}));
  std::vector<std::string> told;
  for (const auto& notice : run.sink.Of("notice")) {
    told.push_back(notice["text"].get<std::string>().substr(0, 34));
  }
  EXPECT_EQ(told,
            (std::vector<std::string>{"gradients were not finite in 1 ste",
                                      "gradients were not finite in 2 ste",
                                      "gradients were not finite in 4 ste"}));
}

TEST(TrainerTest, SaysNothingOfSkippedStepsWhereThereAreNone) {
  TinyRun run(std::make_unique<ListSource>(Ones(2)));
  run.trainer->on_epoch_finished.Bind([](TrainerContext& context) {
    EXPECT_EQ(FindScore(context.scores, "train/skipped_steps"), nullptr);
  });
  run.Run();
  EXPECT_TRUE(run.sink.Of("notice").empty());
}

}  // namespace
}  // namespace epochd::engine
