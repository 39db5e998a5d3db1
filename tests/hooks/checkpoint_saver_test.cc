// SPDX-License-Identifier: Apache-2.0
#include "hooks/checkpoint_saver.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <set>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/checkpoint/checkpoint.h"

namespace epochd::hooks {
namespace {

namespace fs = std::filesystem;
using engine::Json;

// The folders that are there, by name.
std::set<std::string> Folders(const std::string& output) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& each :
       fs::directory_iterator(output + "/checkpoints", error)) {
    names.insert(each.path().filename());
  }
  return names;
}

void Train(engine::TestRun& run, CheckpointSaver::Options options) {
  run.trainer().AddHook(std::make_shared<CheckpointSaver>(options));
  run.trainer().Start();
  run.trainer().Run();
}

TEST(CheckpointSaverTest, SavesEveryFewEpochsAndAtTheEnd) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(5), output.path());
  Train(run, {.every_epochs = 2, .keep_last = 10, .keep_best = 0});
  EXPECT_EQ(
      Folders(output.path()),
      (std::set<std::string>{"epoch-0002-step-000024", "epoch-0004-step-000048",
                             "epoch-0005-step-000060"}));
}

TEST(CheckpointSaverTest, SavesEveryFewSteps) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(1), output.path());
  Train(
      run,
      {.every_epochs = {}, .every_steps = 5, .keep_last = 10, .keep_best = 0});
  EXPECT_EQ(Folders(output.path()),
            (std::set<std::string>{"epoch-0001-batch-00005-step-000005",
                                   "epoch-0001-batch-00010-step-000010",
                                   "epoch-0001-step-000012"}));
}

TEST(CheckpointSaverTest, SavesWhenAskedTo) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(1), output.path());
  run.trainer().on_step_boundary.Bind([](engine::TrainerContext& context) {
    if (context.trainer->position().step == 3) {
      context.trainer->RequestCheckpoint();
    }
  });
  Train(run, {.every_epochs = {}, .keep_last = 10, .keep_best = 0});
  EXPECT_TRUE(
      Folders(output.path()).count("epoch-0001-batch-00004-step-000004"));
}

TEST(CheckpointSaverTest, KeepsTheLastAndTheBest) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(6), output.path());
  Train(run, {.every_epochs = 1, .keep_last = 2, .keep_best = 1});
  const std::set<std::string> left = Folders(output.path());
  EXPECT_TRUE(left.count("epoch-0005-step-000060"));
  EXPECT_TRUE(left.count("epoch-0006-step-000072"));
  EXPECT_LE(left.size(), 3u);
  // The best epoch's is among them, and was told to be the best.
  const int64_t best = run.trainer().monitor().best_epoch + 1;
  bool found = false;
  for (const Json& saved : run.sink.Of("checkpoint_saved")) {
    if (saved["epoch"] != best) continue;
    EXPECT_EQ(saved["best"], true);
    found = fs::exists(saved["path"].get<std::string>());
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(run.sink.Of("checkpoint_removed").size() + left.size(), 6u);
}

TEST(CheckpointSaverTest, RemovesNothingBeforeANewerOneIsRecorded) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(4), output.path());
  run.sink.recorded = 0;
  Train(run, {.every_epochs = 1, .keep_last = 1, .keep_best = 0});
  EXPECT_EQ(Folders(output.path()).size(), 4u);
  EXPECT_TRUE(run.sink.Of("checkpoint_removed").empty());
}

TEST(CheckpointSaverTest, GoesOnWhenTheDiskIsFull) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(2), output.path());
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  run.trainer().on_epoch_finished.Bind([&](engine::TrainerContext& context) {
    const rlimit limit{context.epoch == 0 ? 1024 : before.rlim_cur,
                       before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  });
  Train(run, {.every_epochs = 1, .keep_last = 5, .keep_best = 0});
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(Folders(output.path()),
            std::set<std::string>{"epoch-0002-step-000024"});
  ASSERT_EQ(run.sink.Of("notice").size(), 1u);
  EXPECT_EQ(run.sink.Of("notice")[0]["severity"], "warning");
}

TEST(CheckpointSaverTest, TellsWhatIsInTheFolder) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(1), output.path());
  Train(run, {});
  const std::vector<Json> saved = run.sink.Of("checkpoint_saved");
  ASSERT_EQ(saved.size(), 1u);
  const engine::Snapshot snapshot =
      engine::ReadCheckpoint(saved[0]["path"].get<std::string>());
  EXPECT_EQ(snapshot.json["step"], saved[0]["step"]);
  EXPECT_EQ(saved[0]["metrics"]["val/accuracy"],
            snapshot.json["scores"]["val/accuracy"]);
  EXPECT_GT(saved[0]["bytes"].get<int64_t>(), 0);
}

}  // namespace
}  // namespace epochd::hooks
