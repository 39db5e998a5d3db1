// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/data_stages.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

std::string ProblemOf(StageFiles& staging) {
  try {
    staging.Prepare();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DataStagesTest, KeepsACopyThatIsAsTheSourceAndReplacesAnother) {
  const TempFolder folder;
  WriteText(folder / "source/a", "one");
  WriteText(folder / "source/below/b", "two");
  StageFiles staging(folder / "source", folder / "target/", false);
  staging.Prepare();
  EXPECT_EQ(TextOf(folder / "target/a"), "one");
  EXPECT_EQ(TextOf(folder / "target/below/b"), "two");
  struct stat before, after;
  ASSERT_EQ(stat((folder / "target").c_str(), &before), 0);
  staging.Prepare();
  ASSERT_EQ(stat((folder / "target").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  // A folder's own time does not tell that a file of it changed.
  const auto time = fs::last_write_time(folder / "source/below");
  WriteText(folder / "source/below/b", "three");
  fs::last_write_time(folder / "source/below", time);
  staging.Prepare();
  EXPECT_EQ(TextOf(folder / "target/below/b"), "three");
  staging.Teardown(true);
  EXPECT_TRUE(fs::exists(folder / "target/a"));
}

TEST(DataStagesTest, ATargetThatIsTheSourceOrAroundItOrInItIsRefused) {
  const TempFolder folder;
  WriteText(folder / "data/source/a", "one");
  fs::create_directory(folder / "x");
  fs::create_symlink(folder / "data/source", folder / "link");
  for (const std::string target :
       {"data/source", "x/../data/source/", "link", "data", "data/source/new",
        "link/new", "link/a"}) {
    StageFiles staging(folder / "data/source", folder / target, true);
    EXPECT_NE(ProblemOf(staging).find("is the source"), std::string::npos)
        << target;
    staging.Teardown(true);
    EXPECT_EQ(TextOf(folder / "data/source/a"), "one") << target;
  }
}

TEST(DataStagesTest, LeavesWhatItDidNotBring) {
  const TempFolder folder;
  WriteText(folder / "mine/thesis", "years");
  WriteText(folder / "mine.new/thesis", "more years");
  fs::last_write_time(folder / "mine",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  WriteText(folder / "source/a", "one");
  StageFiles staging(folder / "source", folder / "mine", true);
  EXPECT_NE(ProblemOf(staging).find("is not what StageFiles brought"),
            std::string::npos);
  staging.Teardown(true);
  EXPECT_EQ(TextOf(folder / "mine/thesis"), "years");
  EXPECT_EQ(TextOf(folder / "mine.new/thesis"), "more years");
  EXPECT_FALSE(fs::exists(folder / ".mine.epochd-staged"));
  // What somebody put into a copy is theirs, too.
  StageFiles other(folder / "source", folder / "copy", true);
  other.Prepare();
  WriteText(folder / "copy/thesis", "years");
  EXPECT_NE(ProblemOf(other), "");
  other.Teardown(true);
  EXPECT_EQ(TextOf(folder / "copy/thesis"), "years");
  // A copy made by hand serves, and stays.
  WriteText(folder / "by_hand/a", "one");
  fs::last_write_time(folder / "by_hand/a",
                      fs::last_write_time(folder / "source/a"));
  StageFiles third(folder / "source", folder / "by_hand", true);
  third.Prepare();
  third.Teardown(true);
  EXPECT_EQ(TextOf(folder / "by_hand/a"), "one");
}

TEST(DataStagesTest, TheLastJobThatUsesATargetTakesItAway) {
  const TempFolder folder;
  WriteText(folder / "source/a", "one");
  StageFiles first(folder / "source", folder / "target", true);
  StageFiles second(folder / "source", folder / "target", true);
  first.Prepare();
  second.Prepare();
  first.Teardown(true);
  EXPECT_EQ(TextOf(folder / "target/a"), "one");
  WriteText(folder / "source/a", "another");
  EXPECT_NE(ProblemOf(first).find("used by another job"), std::string::npos);
  EXPECT_EQ(TextOf(folder / "target/a"), "one");
  first.Teardown(true);
  second.Teardown(true);
  EXPECT_FALSE(fs::exists(folder / "target"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
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

// Another machine, or another time, would not help.
TEST(DataStagesTest, WhatCannotBeIsAMistakeOfTheJobAndLeavesNothing) {
  const TempFolder folder;
  WriteText(folder / "source/a", "one");
  fs::create_directory(folder / "places");
  fs::create_symlink(folder / "nothing", folder / "places/dangling");
  fs::create_symlink(folder / "circle", folder / "circle");
  const auto kind_of = [](const std::string& source, const std::string& to) {
    StageFiles staging(source, to, true);
    try {
      staging.Prepare();
    } catch (const Error& error) {
      return error.kind();
    }
    ADD_FAILURE() << source << " to " << to << " is accepted";
    return ErrorKind::kInfrastructure;
  };
  const std::string source = folder / "source";
  for (const std::string& target :
       {folder / "places/dangling",
        folder / ("places/" + std::string(250, 'n')), folder / "source/a/below",
        folder / "circle/x"}) {
    EXPECT_EQ(kind_of(source, target), ErrorKind::kBadSpec) << target;
  }
  for (const char* odd : {"/dev/null", "circle"}) {
    EXPECT_EQ(kind_of(odd[0] == '/' ? odd : folder / odd, folder / "places/x"),
              ErrorKind::kBadSpec)
        << odd;
  }
  size_t left = 0;
  for (const auto& each : fs::directory_iterator(folder / "places")) {
    EXPECT_EQ(each.path().filename(), "dangling") << each.path();
    ++left;
  }
  EXPECT_EQ(left, 1u);
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
