// SPDX-License-Identifier: Apache-2.0
#include "hooks/checkpoint_saver.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/loop/training_runner.h"

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
    if (each.is_symlink()) continue;
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

TEST(CheckpointSaverTest, SavesAStepOnceWhateverBatchesAreLeftOut) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(1), output.path());
  dynamic_cast<engine::TrainingRunner&>(run.trainer().training_runner())
      .on_pre_step.Bind([](engine::RunnerContext& context) {
        context.skip = context.batch >= 5 && context.batch < 8;
      });
  Train(
      run,
      {.every_epochs = {}, .every_steps = 5, .keep_last = 10, .keep_best = 0});
  EXPECT_EQ(Folders(output.path()),
            (std::set<std::string>{"epoch-0001-batch-00005-step-000005",
                                   "epoch-0001-step-000009"}));
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

// What a run that ends within an epoch saves last is the best of it, with the
// scores of its last validation.
void ExpectLastIsBest(engine::TestRun& run, const std::string& output,
                      const std::string& score) {
  const std::vector<Json> saved = run.sink.Of("checkpoint_saved");
  ASSERT_FALSE(saved.empty());
  const Json& last = saved.back();
  EXPECT_EQ(last["batch"], 5);
  EXPECT_EQ(last["step"], run.trainer().position().step);
  EXPECT_EQ(last["best"], true);
  ASSERT_TRUE(last["metrics"].contains(score)) << last;
  EXPECT_EQ(last["metrics"][score].get<double>(), run.trainer().monitor().best);
  EXPECT_EQ(fs::read_symlink(output + "/checkpoints/best"),
            fs::path(last["path"].get<std::string>()).filename());
}

TEST(CheckpointSaverTest, TheLastValidationOfARunThatEndsWithinAnEpochCounts) {
  // 12 batches an epoch, so all end with the fifth of the second.
  for (Json trainer :
       {Json{{"type", "IterationTrainer"},
             {"max_iterations", 17},
             {"val_interval", 6}},
        Json{{"type", "EpochTrainer"}, {"epochs", 5}, {"max_steps", 17}}}) {
    for (const char* own : {"", "val/loss"}) {
      const engine::TempFolder output;
      Json json = engine::DigitsExperiment(1);
      json["trainer"] = trainer;
      json["monitor"] = {{"metric", "val/loss"}};
      json.erase("lr_scheduler");
      engine::TestRun run(json, output.path());
      Train(run, {.every_epochs = 1, .keep_best = 1, .monitor = own});
      ExpectLastIsBest(run, output.path(), "val/loss");
    }
  }
}

TEST(CheckpointSaverTest, TheValidationThatStopsARunCounts) {
  for (const char* unit : {"batches", "part"}) {
    const engine::TempFolder output;
    Json json = engine::DigitsExperiment(3);
    if (std::string(unit) == "part") {
      json["trainer"]["val_interval"] = 0.45;  // 5 of 12 batches
    } else {
      json["trainer"] = {{"type", "IterationTrainer"},
                         {"max_iterations", 40},
                         {"val_interval", 17}};
    }
    json["monitor"] = {{"metric", "val/loss"}};
    json.erase("lr_scheduler");
    engine::TestRun run(json, output.path());
    run.trainer().on_stop_check.Bind([](engine::TrainerContext& context) {
      context.stop |= context.is_mid_epoch && context.epoch == 1;
    });
    engine::Scores scores;
    run.trainer().on_epoch_finished.Bind(
        [&](engine::TrainerContext& context) { scores = context.scores; });
    Train(run, {.every_epochs = {}, .keep_best = 1});
    ExpectLastIsBest(run, output.path(), "val/loss");
    for (const char* name : {"train/loss", "val/loss", "val/accuracy"}) {
      EXPECT_NE(engine::FindScore(scores, name), nullptr) << name;
    }
  }
}

TEST(CheckpointSaverTest, TheBestOfAccumulatedBatchesIsTheOneThatIsTold) {
  // The last validation is due within a group, and the run goes on after it.
  for (const char* own : {"", "val/loss"}) {
    const engine::TempFolder output;
    Json json = engine::DigitsExperiment(1);
    json["runner"] = {{"type", "TrainingRunner"},
                      {"gradient_accumulation_steps", 4}};
    json["trainer"] = {{"type", "IterationTrainer"},
                       {"max_iterations", 38},
                       {"val_interval", 5},
                       {"val_at_end", false}};
    json["monitor"] = {{"metric", "val/loss"}};
    json.erase("lr_scheduler");
    engine::TestRun run(json, output.path());
    Train(run, {.every_epochs = {}, .keep_best = 1, .monitor = own});
    std::vector<Json> best;
    for (const Json& saved : run.sink.Of("checkpoint_saved")) {
      if (saved["best"] == true) best.push_back(saved);
    }
    ASSERT_FALSE(best.empty());
    EXPECT_EQ(best.back()["metrics"]["val/loss"].get<double>(),
              run.trainer().monitor().best);
    EXPECT_TRUE(fs::equivalent(output.path() + "/checkpoints/best",
                               best.back()["path"].get<std::string>()));
  }
}

TEST(CheckpointSaverTest, RemovesNothingBeforeANewerOneIsRecorded) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(4), output.path());
  run.sink.recorded = 0;
  Train(run, {.every_epochs = 1,
              .keep_last = 1,
              .keep_best = 0,
              .settle = std::chrono::milliseconds(0)});
  EXPECT_EQ(Folders(output.path()).size(), 4u);
  EXPECT_TRUE(run.sink.Of("checkpoint_removed").empty());
}

TEST(CheckpointSaverTest, WaitsAtTheEndForWhatIsRecordedInAMoment) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(4), output.path());
  run.sink.recorded = 0;
  std::thread coordinator;
  run.trainer().on_training_ended.Bind([&](engine::TrainerContext&) {
    coordinator = std::thread([&] {
      // As soon as the last one is told of.
      const std::string last = output.path() + "/checkpoints/last";
      std::error_code error;
      const auto until =
          std::chrono::steady_clock::now() + std::chrono::minutes(1);
      while (fs::read_symlink(last, error) != "epoch-0004-step-000048" &&
             std::chrono::steady_clock::now() < until) {
        std::this_thread::yield();
      }
      run.sink.recorded = INT64_MAX;
    });
  });
  Train(run, {.every_epochs = 1,
              .keep_last = 1,
              .keep_best = 0,
              .settle = std::chrono::minutes(2)});
  coordinator.join();
  EXPECT_EQ(Folders(output.path()),
            std::set<std::string>{"epoch-0004-step-000048"});
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
  Train(run, {.every_epochs = 1,
              .keep_last = 5,
              .keep_best = 0,
              .asynchronous = false});
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

// The epochs whose folders are left.
std::set<int64_t> Epochs(const std::string& output) {
  std::set<int64_t> epochs;
  for (const auto& each : engine::ListCheckpoints(output + "/checkpoints")) {
    epochs.insert(each.epoch);
  }
  return epochs;
}

// Empty: there is none.
std::string Link(const std::string& output, const std::string& name) {
  std::error_code error;
  return fs::read_symlink(output + "/checkpoints/" + name, error);
}

// Makes the monitored score of each epoch what the list says.
void Script(engine::TestRun& run, std::vector<double> scores) {
  run.trainer().on_epoch_finished.Bind(
      [scores](engine::TrainerContext& context) {
        for (auto& [name, value] : context.scores) {
          if (name == "train/loss") {
            value = scores[static_cast<size_t>(context.epoch)];
          }
        }
      });
}

CheckpointSaver::Options ByLoss(int64_t keep_last, bool higher) {
  CheckpointSaver::Options options;
  options.keep_last = keep_last;
  options.monitor = "train/loss";
  options.higher_is_better = higher;
  return options;
}

TEST(CheckpointSaverTest, Case57FirstNanIsNotTheBest) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(4), output.path());
  Script(run, {std::nan(""), 8, 7, 5});
  Train(run, ByLoss(1, false));
  EXPECT_EQ(Link(output.path(), "best"), "epoch-0004-step-000048");
}

TEST(CheckpointSaverTest, Case58TheEarliestOfEqualsStaysTheBest) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(3), output.path());
  Script(run, {.5, .7, .7});
  Train(run, ByLoss(1, true));
  EXPECT_EQ(Link(output.path(), "best"), "epoch-0002-step-000024");
  EXPECT_EQ(Epochs(output.path()), (std::set<int64_t>{2, 3}));
}

TEST(CheckpointSaverTest, Case60TheBestIsNamedByItsOwnEpochBesideTheLast) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(4), output.path());
  Script(run, {4, 1, 3, 2});
  Train(run, ByLoss(1, false));
  EXPECT_EQ(Link(output.path(), "best"), "epoch-0002-step-000024");
  EXPECT_EQ(Link(output.path(), "last"), "epoch-0004-step-000048");
}

// A second attempt that goes on from the newest checkpoint of a first.
struct SecondAttempt {
  SecondAttempt(const std::string& first, const std::string& output, int epochs)
      : run(engine::DigitsExperiment(epochs), output, nullptr,
            [&] {
              std::vector<std::string> paths;
              for (const auto& each :
                   engine::ListCheckpoints(first + "/checkpoints")) {
                paths.push_back(each.path);
              }
              return paths;
            }()),
        from(run.trainer().environment().earlier_checkpoints.back()) {}
  void Train(CheckpointSaver::Options options) {
    run.trainer().AddHook(std::make_shared<CheckpointSaver>(options));
    run.trainer().Restore(engine::ReadCheckpoint(from));
    run.trainer().Run();
  }
  engine::TestRun run;
  std::string from;
};

TEST(CheckpointSaverTest, Case61OneBestIsLeftAfterAnInterruption) {
  const engine::TempFolder first;
  {
    engine::TestRun run(engine::DigitsExperiment(3), first.path());
    Script(run, {4, 2, 3});
    Train(run, ByLoss(1, false));
  }
  const engine::TempFolder second;
  SecondAttempt attempt(first.path(), second.path(), 5);
  Script(attempt.run, {0, 0, 0, 3.5, 1});
  attempt.Train(ByLoss(1, false));
  // Of the first only what the second went on from.
  EXPECT_EQ(Epochs(first.path()), std::set<int64_t>{3});
  EXPECT_EQ(Epochs(second.path()), std::set<int64_t>{5});
  EXPECT_EQ(Link(first.path(), "last"), "epoch-0003-step-000036");
  EXPECT_EQ(Link(first.path(), "best"), "") << "it would point nowhere";
  EXPECT_EQ(Link(second.path(), "best"), "epoch-0005-step-000060");
  const engine::Snapshot last =
      engine::ReadCheckpoint(second / "checkpoints/last");
  EXPECT_EQ(last.json["hooks"]["CheckpointSaver"]["monitor"]["value"], 1.0);
}

TEST(CheckpointSaverTest, TheBestOfAnotherJobIsNotThisOnes) {
  const engine::TempFolder first;
  {
    engine::TestRun run(engine::DigitsExperiment(3), first.path());
    Script(run, {4, 2, 3});
    Train(run, ByLoss(-1, false));
  }
  const engine::Snapshot snapshot =
      engine::ReadCheckpoint(first / "checkpoints/last");
  const auto best_after = [&](std::vector<double> losses) {
    const engine::TempFolder second;
    const auto epochs = static_cast<int>(losses.size());
    engine::TestRun run(engine::DigitsExperiment(epochs), second.path());
    Script(run, std::move(losses));
    run.trainer().AddHook(std::make_shared<CheckpointSaver>(ByLoss(1, false)));
    run.trainer().Restore(snapshot);
    run.trainer().Run();
    return Link(second.path(), "best");
  };
  EXPECT_EQ(best_after({0, 0, 0, 3.5, 2.5}), "");
  EXPECT_EQ(best_after({0, 0, 0, 3.5, 1, 2.5}), "epoch-0005-step-000060");
}

TEST(CheckpointSaverTest, Case67LeavesFoldersOfOthersAlone) {
  const engine::TempFolder first;
  {
    engine::TestRun run(engine::DigitsExperiment(4), first.path());
    Train(run, {.every_epochs = 2, .keep_last = 2, .keep_best = 0});
  }
  EXPECT_EQ(Epochs(first.path()), (std::set<int64_t>{2, 4}));
  // Of the same job: adopted, but for the one that it goes on from.
  const engine::TempFolder second;
  SecondAttempt attempt(first.path(), second.path(), 8);
  attempt.Train({.every_epochs = 2, .keep_last = 2, .keep_best = 0});
  EXPECT_EQ(Epochs(first.path()), std::set<int64_t>{4});
  EXPECT_EQ(Epochs(second.path()), (std::set<int64_t>{6, 8}));
  EXPECT_EQ(attempt.run.sink.Of("checkpoint_removed").size(), 1u);
  // Of another job: never touched.
  const engine::TempFolder third;
  engine::TestRun other(engine::DigitsExperiment(8), third.path());
  other.trainer().AddHook(std::make_shared<CheckpointSaver>(
      CheckpointSaver::Options{.keep_last = 1, .keep_best = 0}));
  other.trainer().Restore(engine::ReadCheckpoint(second / "checkpoints/last"));
  other.trainer().Run();
  EXPECT_EQ(Epochs(second.path()), (std::set<int64_t>{6, 8}));
}

TEST(CheckpointSaverTest, Case65KeepsTheOldOneWhenTheNextCannotBeWritten) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(2), output.path());
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  run.trainer().on_epoch_finished.Bind([&](engine::TrainerContext& context) {
    if (context.epoch == 0) return;
    const rlimit limit{1024, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  });
  CheckpointSaver::Options options{
      .keep_last = 1, .keep_best = 0, .asynchronous = false};
  options.retry_wait = std::chrono::milliseconds(1);
  // The last one is what a run is for: that it is missing is no success.
  try {
    Train(run, options);
    ADD_FAILURE() << "ended as if all were saved";
  } catch (const engine::Error& error) {
    EXPECT_EQ(error.kind(), engine::ErrorKind::kInfrastructure);
    EXPECT_NE(std::string(error.what()).find("epoch-0002"), std::string::npos);
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(Epochs(output.path()), std::set<int64_t>{1});
  EXPECT_NO_THROW(engine::ReadCheckpoint(output / "checkpoints/last"));
}

TEST(CheckpointSaverTest, EndsATrainingWhoseSavesKeepFailing) {
  const engine::TempFolder output;
  std::ofstream(output / "checkpoints") << "no folder";
  engine::TestRun run(engine::DigitsExperiment(9), output.path());
  CheckpointSaver::Options options{.asynchronous = false, .give_up_after = 3};
  try {
    Train(run, options);
    ADD_FAILURE() << "went on";
  } catch (const engine::Error& error) {
    EXPECT_NE(std::string(error.what()).find("3 saves in a row failed"),
              std::string::npos);
  }
  EXPECT_EQ(run.trainer().position().epoch, 3);
  EXPECT_EQ(run.sink.Of("notice").size(), 2u);
}

TEST(CheckpointSaverTest, Case68ACheckpointKnowsItsOwnPlace) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(3), output.path());
  Train(run, {.keep_last = -1});
  const auto all = engine::ListCheckpoints(output / "checkpoints");
  ASSERT_EQ(all.size(), 3u);
  for (const auto& each : all) {
    EXPECT_EQ(engine::ReadCheckpoint(each.path)
                  .json["hooks"]["CheckpointSaver"]["path"],
              fs::path(each.path).filename().string());
  }
}

TEST(CheckpointSaverTest, Case70ASaveWithinAnEpochHasNoOldScore) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(3), output.path());
  Train(
      run,
      {.every_epochs = {}, .every_steps = 5, .keep_last = -1, .keep_best = 1});
  for (const Json& saved : run.sink.Of("checkpoint_saved")) {
    if (saved["batch"] != 0) {
      EXPECT_TRUE(saved["metrics"].empty()) << saved;
      EXPECT_EQ(saved["best"], false);
    } else {
      EXPECT_TRUE(saved["metrics"].contains("val/accuracy")) << saved;
    }
  }
  // The best epoch was saved after its validation, though no step asked.
  const engine::Snapshot best =
      engine::ReadCheckpoint(output / "checkpoints/best");
  EXPECT_EQ(best.json["batch"], 0);
  EXPECT_EQ(best.json["scores"]["val/accuracy"], run.trainer().monitor().best);
}

TEST(CheckpointSaverTest, Case72TheBestIsNotTheLiveModel) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(4), output.path());
  Script(run, {.5, .9, .1, .2});
  std::vector<at::Tensor> after;
  run.trainer().on_epoch_finished.Bind([&](engine::TrainerContext& context) {
    after.push_back(
        context.trainer->model().Parameters()[0].tensor.detach().clone());
  });
  Train(run, ByLoss(1, true));
  const engine::Snapshot best =
      engine::ReadCheckpoint(output / "checkpoints/best");
  EXPECT_TRUE(best.model[0].tensor.equal(after[1]));
  EXPECT_FALSE(best.model[0].tensor.equal(after[3]));
}

TEST(CheckpointSaverTest, Case73RefusesToKeepNone) {
  Json json = engine::DigitsExperiment(1);
  json["hooks"] = {{{"type", "CheckpointSaver"}, {"keep_last", 0}}};
  EXPECT_THROW(engine::TestRun(json, ""), engine::Error);
  json["hooks"][0]["keep_last"] = -2;
  EXPECT_THROW(engine::TestRun(json, ""), engine::Error);
  json["hooks"][0]["keep_last"] = -1;
  EXPECT_NO_THROW(engine::TestRun(json, ""));
}

TEST(CheckpointSaverTest, BeginsWhereItIsTold) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(6), output.path());
  Train(run, {.every_epochs = 2, .begin = 3, .keep_last = -1, .keep_best = 0});
  EXPECT_EQ(Epochs(output.path()), (std::set<int64_t>{3, 5, 6}));
}

TEST(CheckpointSaverTest, SavesNoLastOneWhereThatIsNotWanted) {
  const engine::TempFolder output;
  engine::TestRun run(engine::DigitsExperiment(3), output.path());
  Train(
      run,
      {.every_epochs = 2, .keep_last = -1, .keep_best = 0, .save_last = false});
  EXPECT_EQ(Epochs(output.path()), std::set<int64_t>{2});
}

}  // namespace
}  // namespace epochd::hooks
