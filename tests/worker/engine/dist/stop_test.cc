// SPDX-License-Identifier: Apache-2.0
//
// How ranks end together when a hook of one of them, or of all, wants to stop.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/worker/engine/dist/ranks.h"
#include "tests/worker/engine/dist/small_run.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::engine {
namespace {

// Ranks that train for long end with the batch after which one wanted to; each
// exits with 10 + the batches it did.
std::vector<int> EndsWith(int64_t batches) {
  return std::vector<int>(2, static_cast<int>(10 + batches) << 8);
}

Json LongExperiment(const TempFolder& folder) {
  Json json = SmallExperiment(DataFile(folder, 4000), DataFile(folder, 8));
  json["optimizer"]["lr"] = 1e-9;
  return json;
}

int TrainToItsEnd(TestRun& run) {
  run.trainer().Start();
  run.trainer().Run();
  return static_cast<int>(10 + run.trainer().position().global_batch);
}

TEST(StopTest, Case169AStopOfOneRankEndsAllAfterTheVeryStep) {
  const TempFolder folder;
  Json json = LongExperiment(folder);
  for (const auto& [accumulation, last] : {std::pair(1, 33), {4, 36}}) {
    json["runner"] = {{"type", "TrainingRunner"},
                      {"gradient_accumulation_steps", accumulation}};
    EXPECT_EQ(RunRanks(2,
                       [&](const GlooOptions& options) {
                         at::set_num_threads(1);
                         TestRun run(json, "", MakeGlooCommunicator(options));
                         if (options.rank == 1) {
                           dynamic_cast<TrainingRunner&>(
                               run.trainer().training_runner())
                               .on_post_step.Bind([](RunnerContext& context) {
                                 if (context.global_batch != 33) return;
                                 context.stop = true;
                                 context.stop_reason = "enough";
                               });
                         }
                         const int done = TrainToItsEnd(run);
                         RANK_EXPECT(run.trainer().stop_reason() == "enough");
                         return done;
                       }),
              EndsWith(last));
  }
}

TEST(StopTest, Case169AStopAfterAValidationEndsAllWithIt) {
  const TempFolder folder;
  Json json = LongExperiment(folder);
  json["monitor"] = {{"metric", "val/loss"}};
  json["trainer"] = {{"type", "IterationTrainer"},
                     {"max_iterations", 2000},
                     {"val_interval", 11}};
  for (const bool by_one_rank : {false, true}) {
    json["hooks"] = Json::array();
    if (!by_one_rank) {
      json["hooks"].push_back({{"type", "EarlyStopping"},
                               {"rule", "keras"},
                               {"patience", 2},
                               {"min_delta", 100}});
    }
    EXPECT_EQ(RunRanks(2,
                       [&](const GlooOptions& options) {
                         at::set_num_threads(1);
                         TestRun run(json, "", MakeGlooCommunicator(options));
                         if (by_one_rank && options.rank == 1) {
                           run.trainer().on_stop_check.Bind(
                               [](TrainerContext& context) {
                                 context.stop |=
                                     context.trainer->position().step == 33;
                               });
                         }
                         return TrainToItsEnd(run);
                       }),
              EndsWith(33));
  }
}

TEST(StopTest, EarlyStoppingByStepsCountsAlikeOnAllRanks) {
  const TempFolder folder;
  Json json = LongExperiment(folder);
  json["hooks"] = {{{"type", "EarlyStopping"},
                    {"rule", "keras"},
                    {"patience", 4},
                    {"min_delta", 0},
                    {"every", "2 steps"}}};
  const std::vector<int> statuses =
      RunRanks(2, [&](const GlooOptions& options) {
        at::set_num_threads(1);
        TestRun run(json, "", MakeGlooCommunicator(options));
        const int done = TrainToItsEnd(run);
        const std::vector<std::string> states = run.communicator->Gather(
            run.trainer().FindHook("EarlyStopping")->State().dump());
        RANK_EXPECT(states[0] == states[1]);
        RANK_EXPECT(run.trainer().stop_reason() ==
                    "train/loss did not improve within 4 checks");
        RANK_EXPECT(done % 2 == 0);
        return 0;
      });
  EXPECT_EQ(statuses, AllDone(2));
}

TEST(StopTest, AStopConditionOfOneRankEndsTheEpochsOfAll) {
  const TempFolder folder;
  Json json = SmallExperiment(DataFile(folder, 16), DataFile(folder, 8));
  json["trainer"]["epochs"] = 20;
  EXPECT_EQ(
      RunRanks(2,
               [&](const GlooOptions& options) {
                 at::set_num_threads(1);
                 TestRun run(json, "", MakeGlooCommunicator(options));
                 run.trainer().on_stop_check.Bind([&](TrainerContext& context) {
                   context.stop |= options.rank == 1 && context.epoch == 2;
                 });
                 return TrainToItsEnd(run);
               }),
      EndsWith(12));
}

}  // namespace
}  // namespace epochd::engine
