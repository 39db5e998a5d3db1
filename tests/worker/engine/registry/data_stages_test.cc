// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/data_stages.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/stage_files.h"

namespace epochd::engine {
namespace {

namespace fs = std::filesystem;

void WriteText(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Digits that are read from where they are staged.
Json StagedExperiment(const std::string& target, bool remove) {
  Json json = DigitsExperiment(1);
  json["data_module"] = {{"type", "StageFiles"},
                         {"source", DigitsFile()},
                         {"target", target},
                         {"remove", remove}};
  json["data"]["train"]["file"] = target;
  json["data"]["val"]["file"] = target;
  return json;
}

std::unique_ptr<DataStages> Stage(const Json& json) {
  const auto single = MakeSingleCommunicator();
  return PrepareData(TestRegistry(), json, "experiment", *single);
}

TEST(DataStagesTest, BringsTheDataBeforeARunAndTakesItAwayAfter) {
  const TempFolder folder;
  const std::string target = folder / "fast/digits.csv.gz";
  const Json json = StagedExperiment(target, true);
  {
    const auto stages = Stage(json);
    ASSERT_NE(stages, nullptr);
    TestRun run(json);
    run.trainer().Start();
    run.trainer().Run();
    EXPECT_TRUE(fs::exists(target));
  }
  EXPECT_FALSE(fs::exists(target));
  EXPECT_EQ(Stage(DigitsExperiment(1)), nullptr);
}

TEST(DataStagesTest, KeepsWhatIsThereAndReplacesWhatIsOlder) {
  const TempFolder folder;
  WriteText(folder / "source/a", "one");
  WriteText(folder / "source/below/b", "two");
  StageFiles staging(folder / "source", folder / "target", false);
  staging.Prepare();
  EXPECT_EQ(TextOf(folder / "target/a"), "one");
  EXPECT_EQ(TextOf(folder / "target/below/b"), "two");
  EXPECT_FALSE(fs::exists(folder / "target.new"));
  WriteText(folder / "target/mark", "kept");
  staging.Prepare();
  EXPECT_TRUE(fs::exists(folder / "target/mark"));
  fs::last_write_time(folder / "source",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  staging.Prepare();
  EXPECT_FALSE(fs::exists(folder / "target/mark"));
  staging.Teardown(true);
  EXPECT_TRUE(fs::exists(folder / "target/a"));
}

TEST(DataStagesTest, OneRankPreparesAndNoneIsTornDownThatFailed) {
  const TempFolder folder;
  class Counting : public DataModule {
   public:
    void Prepare() override { ++prepared; }
    void Setup() override {
      if (fails) throw Error(ErrorKind::kInfrastructure, "no");
      ++set_up;
    }
    void Teardown(bool) override { ++torn_down; }
    int prepared = 0, set_up = 0, torn_down = 0;
    bool fails = false;
  };
  const auto single = MakeSingleCommunicator();
  auto module = std::make_shared<Counting>();
  { DataStages stages(module, *single); }
  EXPECT_EQ(module->prepared, 1);
  EXPECT_EQ(module->torn_down, 1);
  module->fails = true;
  EXPECT_THROW(DataStages(module, *single), Error);
  EXPECT_EQ(module->torn_down, 1);
}

TEST(DataStagesTest, NamesWhatIsWrong) {
  const TempFolder folder;
  Json json = StagedExperiment("not/absolute", false);
  EXPECT_THROW(Stage(json), Error);
  json = StagedExperiment(folder / "x", false);
  json["data_module"]["source"] = folder / "missing";
  try {
    Stage(json);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("experiment.data_module.source"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace epochd::engine
