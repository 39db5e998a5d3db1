// SPDX-License-Identifier: Apache-2.0
//
// A run that goes on from a snapshot ends in the same bits as one that was
// never interrupted.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/loop/trainer.h"

namespace epochd::engine {
namespace {

struct Ending {
  at::Tensor weights;
  std::vector<Scores> scores;  // of the last epochs
};

void KeepScores(TestRun& run, std::vector<Scores>& into) {
  run.trainer().on_epoch_finished.Bind(
      [&into](TrainerContext& context) { into.push_back(context.scores); });
}

Ending Straight(const Json& json) {
  TestRun run(json);
  Ending ending;
  KeepScores(run, ending.scores);
  run.trainer().Start();
  run.trainer().Run();
  ending.weights = run.Weights();
  return ending;
}

// Interrupts after `step` steps, through a checkpoint on disk.
Ending Interrupted(const Json& json, int64_t step) {
  const TempFolder folder;
  const std::string path = folder / "checkpoint";
  {
    TestRun run(json);
    auto save = [&](TrainerContext& context) {
      if (context.ending) {
        WriteCheckpoint(path, context.trainer->TakeSnapshot());
      } else if (context.trainer->position().step == step) {
        context.trainer->RequestStop();
      }
    };
    run.trainer().on_step_boundary.Bind(save);
    run.trainer().on_epoch_committed.Bind(save);
    run.trainer().Start();
    EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kStopped);
  }
  TestRun run(json);
  Ending ending;
  KeepScores(run, ending.scores);
  run.trainer().Restore(ReadCheckpoint(path));
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  ending.weights = run.Weights();
  return ending;
}

void ExpectSame(const Ending& resumed, const Ending& straight,
                const std::string& what) {
  EXPECT_TRUE(resumed.weights.equal(straight.weights)) << what;
  ASSERT_FALSE(resumed.scores.empty()) << what;
  // Scores of the interrupted epoch are those of the whole epoch.
  const size_t skipped = straight.scores.size() - resumed.scores.size();
  for (size_t i = 0; i < resumed.scores.size(); ++i) {
    EXPECT_EQ(resumed.scores[i], straight.scores[i + skipped]) << what;
  }
}

TEST(ResumeTest, IsBitForBitFromAnyStep) {
  const Json json = DigitsExperiment(3);
  const Ending straight = Straight(json);
  // 12 batches an epoch: in the middle, around the epochs' ends, in the last.
  for (int64_t step : {1, 5, 10, 11, 12, 20, 23, 34}) {
    ExpectSame(Interrupted(json, step), straight,
               "interrupted after step " + std::to_string(step));
  }
}

TEST(ResumeTest, IsBitForBitForAGanWithRatioAndWarmup) {
  Json json = GanExperiment(3);
  json["hooks"] = {{{"type", "StepRatio"}, {"ratio", 2.0}},
                   {{"type", "DiscriminatorWarmup"}, {"batches", 2}}};
  const Ending straight = Straight(json);
  for (int64_t step : {1, 3, 6}) {
    ExpectSame(Interrupted(json, step), straight,
               "interrupted after step " + std::to_string(step));
  }
}

TEST(ResumeTest, DoesNotTrainOnWhenTheRunHadEnded) {
  const Json json = DigitsExperiment(10);
  Snapshot snapshot;
  {
    TestRun run(json);
    run.trainer().on_stop_check.Bind(
        [](TrainerContext& context) { context.stop = true; });
    run.trainer().on_epoch_committed.Bind([&](TrainerContext& context) {
      snapshot = context.trainer->TakeSnapshot();
    });
    run.trainer().Start();
    run.trainer().Run();
  }
  TestRun run(json);
  run.trainer().Restore(snapshot);
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  EXPECT_EQ(run.trainer().position().epoch, 1);
}

}  // namespace
}  // namespace epochd::engine
