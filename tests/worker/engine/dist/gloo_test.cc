// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/gloo.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/dist/ranks.h"
#include "worker/engine/checkpoint/checkpoint.h"

namespace epochd::engine {
namespace {

std::vector<int> AllDone(int world_size) {
  return std::vector<int>(static_cast<size_t>(world_size), 0);
}

// Layers wide enough for more than one bucket.
Json WideExperiment(int epochs) {
  Json json = DigitsExperiment(epochs);
  json["model"]["hidden"] = {600, 600};
  json["data"]["train"]["batch_size"] = 100;
  return json;
}

void Keep(TestRun& run, const std::string& path) {
  WriteCheckpoint(path, {{{"weights", run.Weights()}}, {}, Json::object()});
}

at::Tensor Kept(const std::string& path) {
  return ReadCheckpoint(path).model[0].tensor;
}

// Trains in `world_size` ranks and keeps each rank's weights; stops after
// `stop_after` steps (0: never) with a checkpoint, or goes on from one.
int TrainRank(const GlooOptions& options, const Json& json,
              const std::string& folder, int64_t stop_after, bool resumes) {
  at::set_num_threads(1);
  TestRun run(json, "", MakeGlooCommunicator(options));
  Trainer& trainer = run.trainer();
  const std::string checkpoint = folder + "/checkpoint";
  trainer.on_step_boundary.Bind([&](TrainerContext& context) {
    // One rank asks; all stop after the same step.
    if (options.rank == 1 && trainer.position().step == stop_after) {
      trainer.RequestStop();
    }
    if (!context.ending) return;
    const Snapshot snapshot = trainer.TakeSnapshot();
    if (trainer.is_main_rank()) WriteCheckpoint(checkpoint, snapshot);
  });
  if (resumes) {
    trainer.Restore(ReadCheckpoint(checkpoint));
  } else {
    trainer.Start();
  }
  const Trainer::Outcome outcome = trainer.Run();
  if (outcome == Trainer::Outcome::kStopped) {
    run.communicator->Barrier();
    return stop_after > 0 ? 0 : 2;
  }
  Keep(run, folder + "/rank-" + std::to_string(options.rank));
  return 0;
}

TEST(GlooTest, GathersAndSums) {
  EXPECT_EQ(RunRanks(3,
                     [](const GlooOptions& options) {
                       auto communicator = MakeGlooCommunicator(options);
                       at::Tensor one =
                           at::full({2}, options.rank + 1.0, at::kDouble);
                       communicator->AllReduceSum(one);
                       const bool sums = one[0].item<double>() == 6.0;
                       const auto gathered = communicator->Gather(
                           std::string(static_cast<size_t>(options.rank), 'x'));
                       const bool gathers =
                           gathered == std::vector<std::string>{"", "x", "xx"};
                       communicator->Barrier();
                       return sums && gathers ? 0 : 1;
                     }),
            AllDone(3));
}

TEST(GlooTest, EndsWithTheSameBitsOnAllRanks) {
  const TempFolder folder;
  Json json = DigitsExperiment(2);
  EXPECT_EQ(RunRanks(2,
                     [&](const GlooOptions& options) {
                       return TrainRank(options, json, folder.path(), 0, false);
                     }),
            AllDone(2));
  EXPECT_TRUE(Kept(folder / "rank-0").equal(Kept(folder / "rank-1")));
}

TEST(GlooTest, TrainsOnTheSameSamplesAsOneRankOfLargerBatches) {
  const TempFolder folder;
  Json json = DigitsExperiment(1);
  json["model"]["dropout"] = 0.0;
  json["optimizer"] = {{"type", "SGD"}, {"lr", 0.1}};
  json["data"]["train"]["drop_last"] = true;
  json["data"]["train"]["batch_size"] = 64;
  EXPECT_EQ(RunRanks(2,
                     [&](const GlooOptions& options) {
                       return TrainRank(options, json, folder.path(), 0, false);
                     }),
            AllDone(2));
  const at::Tensor two = Kept(folder / "rank-0");
  const TempFolder single;
  json["data"]["train"]["batch_size"] = 128;
  // In a process of its own: this one must not start threads.
  EXPECT_EQ(RunRanks(1,
                     [&](const GlooOptions&) {
                       TestRun run(json);
                       run.trainer().Start();
                       run.trainer().Run();
                       Keep(run, single / "rank-0");
                       return 0;
                     }),
            AllDone(1));
  EXPECT_TRUE(at::allclose(two, Kept(single / "rank-0"), 1e-4, 1e-6));
}

TEST(GlooTest, ResumesBitForBitWithTwoAndThreeRanks) {
  for (int world_size : {2, 3}) {
    const TempFolder straight;
    const TempFolder broken;
    const Json json = WideExperiment(2);
    auto train = [&](const std::string& folder, int64_t stop_after,
                     bool resumes) {
      return RunRanks(world_size, [&](const GlooOptions& options) {
        return TrainRank(options, json, folder, stop_after, resumes);
      });
    };
    ASSERT_EQ(train(straight.path(), 0, false), AllDone(world_size));
    ASSERT_EQ(train(broken.path(), 2, false), AllDone(world_size));
    ASSERT_EQ(train(broken.path(), 0, true), AllDone(world_size));
    for (int rank = 0; rank < world_size; ++rank) {
      const std::string name = "rank-" + std::to_string(rank);
      EXPECT_TRUE(Kept(straight / name).equal(Kept(broken / name)))
          << world_size << " ranks, " << name;
    }
  }
}

TEST(GlooTest, CallsADeadPeerAnInfrastructureProblem) {
  const TempFolder folder;
  const std::vector<int> statuses =
      RunRanks(2, [&](const GlooOptions& options) {
        at::set_num_threads(1);
        TestRun run(DigitsExperiment(1000), "", MakeGlooCommunicator(options));
        run.trainer().on_step_boundary.Bind([&](TrainerContext& context) {
          if (options.rank == 1 && context.trainer->position().step == 3) {
            raise(SIGKILL);
          }
        });
        run.trainer().Start();
        run.trainer().Run();
        return 0;
      });
  ASSERT_EQ(statuses.size(), 2u);
  EXPECT_TRUE(WIFSIGNALED(statuses[1]));
  ASSERT_TRUE(WIFEXITED(statuses[0])) << "signal " << WTERMSIG(statuses[0]);
  EXPECT_EQ(WEXITSTATUS(statuses[0]),
            70 + static_cast<int>(ErrorKind::kInfrastructure));
}

}  // namespace
}  // namespace epochd::engine
