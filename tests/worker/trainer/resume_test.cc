// SPDX-License-Identifier: Apache-2.0
//
// How attempts go on from checkpoints, and how they end when one is missing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/worker/trainer/attempt.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/link/exit_code.h"

namespace epochd::trainer {
namespace {

namespace fs = std::filesystem;

std::string Notices(const Attempt& attempt, int rank = 0) {
  std::string all;
  for (const Json& line : attempt.Lines("notice", rank)) {
    all += line["text"].get<std::string>() + "\n";
  }
  return all;
}

void ExpectIn(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

std::string CheckpointsOf(const engine::TempFolder& root, int attempt) {
  return root /
         ("storage/j1/attempt-" + std::to_string(attempt) + "/checkpoints");
}

TEST(ResumeModesTest, Case77AutoWithoutACheckpointBeginsWithAWarning) {
  const engine::TempFolder root;
  Json json = engine::DigitsExperiment(1);
  json["resume"] = "auto";
  Attempt attempt(root.path(), 1, json);
  attempt.Start();
  EXPECT_EQ(attempt.ExitCode(0), link::kDone);
  ExpectIn("training starts at epoch 0", Notices(attempt));
  EXPECT_EQ(attempt.Lines("training_began").at(0)["resumed_from"], "");
}

TEST(ResumeModesTest, GoesOnFromANamedCheckpointAndLeavesItAlone) {
  const engine::TempFolder root;
  {
    Attempt first(root.path(), 1, engine::DigitsExperiment(2));
    first.Start();
    ASSERT_EQ(first.ExitCode(0), link::kDone);
  }
  Json json = engine::DigitsExperiment(4);
  json["resume"] = CheckpointsOf(root, 1);
  const engine::TempFolder other;
  Attempt second(other.path(), 1, json);
  second.spec.checkpoints.keep_last = 1;
  second.spec.checkpoints.keep_best = 0;
  second.Start();
  EXPECT_EQ(second.ExitCode(0), link::kDone);
  EXPECT_EQ(second.Lines("training_began").at(0)["initial_epoch"], 3);
  EXPECT_EQ(engine::ListCheckpoints(CheckpointsOf(root, 1)).size(), 2u);
  EXPECT_EQ(engine::ListCheckpoints(CheckpointsOf(other, 1)).size(), 1u);
}

TEST(ResumeModesTest, NeverBeginsAnew) {
  const engine::TempFolder root;
  Json json = engine::DigitsExperiment(1);
  json["resume"] = "never";
  Attempt first(root.path(), 1, json);
  first.Start();
  ASSERT_EQ(first.ExitCode(0), link::kDone);
  Attempt second(root.path(), 2, json);
  second.spec.resume = first.Checkpoints();
  second.Start();
  EXPECT_EQ(second.ExitCode(0), link::kDone);
  EXPECT_EQ(second.Lines("training_began").at(0)["resumed_from"], "");
}

TEST(ResumeModesTest, ANamedCheckpointThatIsBrokenOrMissingIsABadSpec) {
  const engine::TempFolder root;
  {
    Attempt first(root.path(), 1, engine::DigitsExperiment(1));
    first.Start();
    ASSERT_EQ(first.ExitCode(0), link::kDone);
  }
  const std::string path =
      engine::ListCheckpoints(CheckpointsOf(root, 1)).back().path;
  fs::resize_file(path + "/state.safetensors", 10);
  int number = 2;
  for (const std::string& named : {path, root / "nothing"}) {
    Json json = engine::DigitsExperiment(1);
    json["resume"] = named;
    Attempt attempt(root.path(), number++, json);
    attempt.Start();
    EXPECT_EQ(attempt.ExitCode(0), link::kBadSpec);
    ExpectIn("experiment.resume: \"" + named, Notices(attempt));
  }
}

TEST(ResumeModesTest, AnotherExperimentIsABadSpecThatSaysWhatDiffers) {
  const engine::TempFolder root;
  Attempt first(root.path(), 1, engine::DigitsExperiment(1));
  first.Start();
  ASSERT_EQ(first.ExitCode(0), link::kDone);
  Json json = engine::DigitsExperiment(2);
  json["model"]["hidden"] = {99};
  Attempt second(root.path(), 2, json);
  second.spec.resume = first.Checkpoints();
  second.Start();
  EXPECT_EQ(second.ExitCode(0), link::kBadSpec);
  ExpectIn("does not fit this experiment", Notices(second));
  ExpectIn("[99, 64]", Notices(second));
}

TEST(ResumeModesTest, StoppedWithACheckpointIsSaidOfASavedOneAlone) {
  const engine::TempFolder root;
  Attempt attempt(root.path(), 1, engine::DigitsExperiment(100000));
  attempt.spec.checkpoints.every = {};
  attempt.Start();
  ASSERT_TRUE(attempt.WaitForLines("first_step", 1));
  const std::string folder = CheckpointsOf(root, 1);
  std::ofstream(root / "file") << "no folder";
  // At once: the trainer would make a folder that is missing.
  ASSERT_EQ(renameat2(AT_FDCWD, (root / "file").c_str(), AT_FDCWD,
                      folder.c_str(), RENAME_EXCHANGE),
            0);
  kill(attempt.pid(0), SIGTERM);
  EXPECT_EQ(attempt.ExitCode(0), link::kInfrastructure);
  ExpectIn("was not saved", Notices(attempt));
  EXPECT_EQ(attempt.Lines("training_ended").at(0)["outcome"], "failed");
}

TEST(ResumeModesTest, CheckpointsOfEarlierAttemptsDoNotPileUp) {
  const engine::TempFolder root;
  std::vector<std::string> resume;
  for (int number = 1; number <= 3; ++number) {
    Attempt attempt(root.path(), number, engine::DigitsExperiment(3 * number));
    attempt.spec.checkpoints.keep_last = 2;
    attempt.spec.checkpoints.keep_best = 0;
    attempt.spec.resume = resume;
    attempt.Start();
    ASSERT_EQ(attempt.ExitCode(0), link::kDone);
    const std::vector<std::string> saved = attempt.Checkpoints();
    resume.insert(resume.begin(), saved.begin(), saved.end());
  }
  // The last two, and what the third attempt went on from.
  std::set<int64_t> epochs;
  for (int number = 1; number <= 3; ++number) {
    for (const auto& each :
         engine::ListCheckpoints(CheckpointsOf(root, number))) {
      epochs.insert(each.epoch);
    }
  }
  EXPECT_EQ(epochs, (std::set<int64_t>{6, 8, 9}));
}

TEST(ResumeModesTest, GoesOnWithAnotherNumberOfRanksAtTheSameSample) {
  const engine::TempFolder root;
  Json json = engine::DigitsExperiment(2);
  json["data"]["train"]["batch_size"] = 32;
  json["data"]["train"]["drop_last"] = true;
  Attempt first(root.path(), 1, json);
  first.spec.world_size = 2;
  first.spec.checkpoints.every = {.epochs = {}, .steps = 6, .seconds = {}};
  first.spec.checkpoints.keep_last = 100;
  first.Start();
  for (int rank : {0, 1}) ASSERT_EQ(first.ExitCode(rank), link::kDone);
  std::string from;
  for (const std::string& path : first.Checkpoints()) {
    if (engine::ReadCheckpointInfo(path)->step == 6) from = path;
  }
  ASSERT_FALSE(from.empty());
  Attempt second(root.path(), 2, json);
  second.spec.resume = {from};
  second.Start();
  EXPECT_EQ(second.ExitCode(0), link::kDone);
  ExpectIn("at the same sample of epoch 1", Notices(second));
  EXPECT_EQ(second.Lines("training_began").at(0)["initial_batch"], 12);
}

}  // namespace
}  // namespace epochd::trainer
