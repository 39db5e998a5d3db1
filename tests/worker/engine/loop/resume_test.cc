// SPDX-License-Identifier: Apache-2.0
//
// A run that goes on from a snapshot ends in the same bits as one that was
// never interrupted.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/worker/engine/burgers_run.h"
#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/regrouping.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

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

// Points of each epoch, weights of losses, and derivatives of derivatives.
TEST(ResumeTest, IsBitForBitForAnEquation) {
  const Json json = BurgersExperiment(4);
  const Ending straight = Straight(json);
  // 4 batches an epoch, new weights before every third step.
  for (int64_t step : {1, 3, 4, 10, 15}) {
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

// A snapshot after `step` steps of a run.
Snapshot SnapshotAfter(const Json& json, int64_t step) {
  return SnapshotWhen(
      json, [step](const Position& position) { return position.step == step; });
}

// What Restore() refuses, as text.
std::string Refusal(const Json& json, const Snapshot& snapshot) {
  TestRun run(json);
  return BadSpecOf([&] { run.trainer().Restore(snapshot); });
}

void ExpectIn(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(ResumeTest, SaysAllThatChangedInTheExperiment) {
  Json before = DigitsExperiment(2);
  before["hooks"].push_back({{"type", "EarlyStopping"}, {"patience", 3}});
  const Snapshot snapshot = SnapshotAfter(before, 3);
  Json json = DigitsExperiment(2);
  json["model"]["hidden"] = {20};
  json.erase("lr_scheduler");
  const std::string refusal = Refusal(json, snapshot);
  ExpectIn("does not fit this experiment", refusal);
  ExpectIn("is of shape [16, 64], the model's is [20, 64]", refusal);
  ExpectIn("1 schedulers, the experiment 0", refusal);
  ExpectIn("\"EarlyStopping\" had a state and is not there", refusal);
  ExpectIn("load_strict: false", refusal);
}

TEST(ResumeTest, Case172AChangedHookListIsSaidByName) {
  Json before = DigitsExperiment(2);
  before["hooks"] = {{{"type", "EarlyStopping"}, {"patience", 3}}};
  const Snapshot snapshot = SnapshotAfter(before, 3);
  Json json = DigitsExperiment(2);
  json["hooks"] = {{{"type", "CheckpointSaver"}}};
  const std::string refusal = Refusal(json, snapshot);
  ExpectIn("\"EarlyStopping\" had a state and is not there", refusal);
  ExpectIn("\"CheckpointSaver\" is new", refusal);
}

TEST(ResumeTest, RefusesTheStateOfAnotherOptimizerAndBeginsAnewWhereToldTo) {
  Json before = DigitsExperiment(2);
  before["optimizer"] = {{"type", "Adam"}, {"lr", 0.001}};
  const Snapshot snapshot = SnapshotAfter(before, 3);
  const Json others = {{{"type", "SGD"}, {"lr", 0.25}},
                       {{"type", "RMSprop"}, {"lr", 0.25}},
                       {{"type", "AdamW"}, {"lr", 0.25}}};
  for (const Json& other : others) {
    Json json = DigitsExperiment(1);
    json["optimizer"] = other;
    ExpectIn("optimizer state: of Adam, this optimizer is " +
                 other["type"].get<std::string>(),
             Refusal(json, snapshot));
    json["load_strict"] = false;
    json.erase("lr_scheduler");
    TestRun run(json);
    run.trainer().Restore(snapshot);
    const auto optimizer =
        run.trainer().training_runner().Optimizers().front().second;
    EXPECT_EQ(optimizer->lr(), 0.25);
    EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  }
}

// Whether a notice holds this text.
bool WasTold(const TestRun& run, const std::string& text) {
  const std::vector<Json> notices = run.sink.Of("notice");
  return std::any_of(notices.begin(), notices.end(), [&](const Json& each) {
    return each["text"].get<std::string>().find(text) != std::string::npos;
  });
}

TEST(ResumeTest, SaysWhichSettingsOfTheOptimizerAreNotUsed) {
  Json json = DigitsExperiment(2);
  json["optimizer"] = {{"type", "Adam"}, {"lr", 0.001}};
  const Snapshot snapshot = SnapshotAfter(json, 3);
  {
    TestRun same(json);
    same.trainer().Restore(snapshot);
    EXPECT_TRUE(same.sink.Of("notice").empty());
  }
  json["optimizer"]["lr"] = 0.00001;
  json["optimizer"]["weight_decay"] = 0.5;
  TestRun run(json);
  run.trainer().Restore(snapshot);
  EXPECT_TRUE(WasTold(run,
                      "optimizer: goes on with the checkpoint's settings: lr "
                      "0.001 instead of 1e-05, weight_decay 0 instead of 0.5"));
}

TEST(ResumeTest, TellsThatAnotherSeedOrdersTheSamplesAnew) {
  Json json = DigitsExperiment(2);
  json["seed"] = 5;
  const Snapshot snapshot = SnapshotAfter(json, 3);
  json["seed"] = 9;
  TestRun run(json);
  run.trainer().Restore(snapshot);
  EXPECT_TRUE(
      WasTold(run, "the checkpoint is of seed 5, this run of seed 9; samples"));
}

TEST(ResumeTest, AnotherMonitorHasNoBestYet) {
  Json json = DigitsExperiment(2);
  Snapshot snapshot = SnapshotAfter(json, 13);
  EXPECT_EQ(snapshot.json["best"]["metric"], "val/accuracy");
  json["monitor"] = {{"metric", "train/loss"}};
  TestRun run(json);
  run.trainer().Restore(snapshot);
  EXPECT_EQ(run.trainer().monitor().best_epoch, -1);
}

TEST(ResumeTest, TakesWhatFitsWhereItIsToldTo) {
  Json before = DigitsExperiment(2);
  before["hooks"].push_back({{"type", "EarlyStopping"}, {"patience", 3}});
  const Snapshot snapshot = SnapshotAfter(before, 3);
  Json json = DigitsExperiment(2);
  json["load_strict"] = false;
  json["model"]["hidden"] = {20};
  TestRun run(json);
  run.trainer().Restore(snapshot);
  EXPECT_EQ(run.trainer().position().step, 3);
  EXPECT_FALSE(run.sink.Of("notice").empty());
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
}

TEST(ResumeTest, WeightsThatFitAreTakenWithAReport) {
  TestRun run(DigitsExperiment(1));
  Model& model = run.trainer().model();
  std::vector<NamedTensor> saved;
  for (const NamedTensor& each : model.Parameters()) {
    saved.push_back({each.name, at::full_like(each.tensor, 7)});
  }
  const std::string first = saved[0].name;
  const std::string last = saved.back().name;
  saved.back().tensor = at::ones({3, 3});
  saved.push_back({"head", at::ones({1})});
  saved.erase(saved.begin() + 1);
  EXPECT_THROW(LoadModel(model, saved), Error);
  EXPECT_FALSE(model.Parameters()[0].tensor.eq(7).all().item<bool>());
  const LoadReport report = LoadModel(model, saved, /*strict=*/false);
  EXPECT_EQ(report.loaded, 2);
  EXPECT_EQ(report.missing.size(), 1u);
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"head"});
  ASSERT_EQ(report.misshapen.size(), 1u);
  ExpectIn(last, report.misshapen[0]);
  EXPECT_TRUE(model.Parameters()[0].tensor.eq(7).all().item<bool>());
  // Nothing in common is not "partial".
  EXPECT_THROW(LoadModel(model, {{"other", at::ones({1})}}, false), Error);
}

TEST(ResumeTest, Case88GeneratorsGoOnWhereTheyWere) {
  const Json json = DigitsExperiment(2);
  const Snapshot snapshot = SnapshotAfter(json, 5);
  auto generator = at::globalContext().defaultGenerator(at::kCPU);
  std::vector<at::Tensor> draws;
  for (int i = 0; i < 2; ++i) {
    TestRun run(json);
    generator.set_current_seed(static_cast<uint64_t>(i));
    run.trainer().Restore(snapshot);
    draws.push_back(at::rand({10}));
  }
  EXPECT_TRUE(draws[0].equal(draws[1]));
}

TEST(ResumeTest, Case86StepsAreCountedOnceEach) {
  const Json json = DigitsExperiment(3);
  std::vector<int64_t> steps;
  const auto count = [&](TestRun& run) {
    run.trainer().on_step_boundary.Bind([&](TrainerContext& context) {
      steps.push_back(context.trainer->position().step);
    });
  };
  Snapshot snapshot;
  {
    TestRun run(json);
    count(run);
    run.trainer().on_epoch_committed.Bind([&](TrainerContext& context) {
      snapshot = context.trainer->TakeSnapshot();
      context.trainer->RequestStop();
    });
    run.trainer().Start();
    run.trainer().Run();
    // The stop was heard in the second epoch's first step.
    steps.resize(static_cast<size_t>(snapshot.json["step"].get<int64_t>()));
  }
  TestRun run(json);
  count(run);
  run.trainer().Restore(snapshot);
  run.trainer().Run();
  ASSERT_EQ(steps.size(), 36u);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i], static_cast<int64_t>(i) + 1);
  }
}

TEST(ResumeTest, Case89ValidationDoesNotChangeTheOrderOfTraining) {
  Json json = DigitsExperiment(2);
  json["monitor"] = {{"metric", "train/loss"}};
  const auto weights = [&](bool validates) {
    Json variant = json;
    if (!validates) variant["data"].erase("val");
    TestRun run(variant);
    run.trainer().Start();
    run.trainer().Run();
    return run.Weights();
  };
  EXPECT_TRUE(weights(true).equal(weights(false)));
}

TEST(ResumeTest, Case90AnInterruptionDoesNotShiftTheSamples) {
  const Json json = DigitsExperiment(3);
  const auto targets_of = [](TestRun& run, std::vector<at::Tensor>& into) {
    auto& runner =
        dynamic_cast<TrainingRunner&>(run.trainer().training_runner());
    runner.on_post_step.Bind([&into](RunnerContext& context) {
      into.push_back(context.entry->At("target").clone());
    });
  };
  std::vector<at::Tensor> straight;
  {
    TestRun run(json);
    targets_of(run, straight);
    run.trainer().Start();
    run.trainer().Run();
  }
  std::vector<at::Tensor> parts;
  Snapshot snapshot;
  for (int attempt = 0; attempt < 10; ++attempt) {
    TestRun run(json);
    targets_of(run, parts);
    int64_t steps = 0;
    bool saved = false;
    const auto save = [&](TrainerContext& context) {
      if (!context.ending) {
        if (++steps == 11) run.trainer().RequestStop();
        return;
      }
      snapshot = KeptSnapshot(*context.trainer);
      saved = true;
    };
    run.trainer().on_step_boundary.Bind(save);
    run.trainer().on_epoch_committed.Bind([&](TrainerContext& context) {
      if (context.ending) save(context);
    });
    if (attempt == 0) {
      run.trainer().Start();
    } else {
      run.trainer().Restore(snapshot);
    }
    if (run.trainer().Run() == Trainer::Outcome::kCompleted) break;
    ASSERT_TRUE(saved);
  }
  ASSERT_EQ(parts.size(), straight.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_TRUE(parts[i].equal(straight[i])) << i;
  }
}

TEST(ResumeTest, Case92NothingIsLeftToDoAtTheLastEpoch) {
  const Json json = DigitsExperiment(1);
  Snapshot snapshot;
  {
    TestRun run(json);
    run.trainer().on_epoch_committed.Bind([&](TrainerContext& context) {
      snapshot = context.trainer->TakeSnapshot();
    });
    run.trainer().Start();
    run.trainer().Run();
  }
  TestRun run(json);
  bool ended = false;
  run.trainer().on_training_ended.Bind([&](TrainerContext&) { ended = true; });
  run.trainer().Restore(snapshot);
  const at::Tensor before = run.Weights();
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  EXPECT_TRUE(run.Weights().equal(before));
  EXPECT_EQ(run.trainer().position().step, 12);
  EXPECT_TRUE(ended);
  EXPECT_TRUE(WasTold(run,
                      "nothing is left to train: the checkpoint is of epoch 1, "
                      "step 12"));
}

TEST(ResumeTest, Case93ACheckpointHoldsNoEndOfTheTraining) {
  // What ends a training is the experiment's alone, so nothing can conflict.
  const Snapshot snapshot = SnapshotAfter(DigitsExperiment(1), 3);
  for (const char* key : {"epochs", "max_epochs", "max_iters"}) {
    EXPECT_FALSE(snapshot.json.contains(key)) << key;
  }
  TestRun longer(DigitsExperiment(2));
  longer.trainer().Restore(snapshot);
  longer.trainer().Run();
  EXPECT_EQ(longer.trainer().position().epoch, 2);
}

TEST(ResumeTest, AnotherBatchSizeGoesOnAtTheSameSampleWhereItCan) {
  Json json = DigitsExperiment(2);
  json["data"]["train"]["batch_size"] = 64;
  const Snapshot snapshot = SnapshotAfter(json, 6);
  Json twice = json;
  twice["data"]["train"]["batch_size"] = 128;
  TestRun run(twice);
  run.trainer().Restore(snapshot);
  EXPECT_EQ(run.trainer().position().batch, 3);
  ExpectIn("at the same sample of epoch 1",
           run.sink.Of("notice").at(0)["text"].get<std::string>());
  Json odd = json;
  odd["data"]["train"]["batch_size"] = 100;
  TestRun other(odd);
  other.trainer().Restore(snapshot);
  EXPECT_EQ(other.trainer().position().batch, 0);
  EXPECT_EQ(other.trainer().position().step, 6);
  ExpectIn("begins anew epoch 1",
           other.sink.Of("notice").at(0)["text"].get<std::string>());
}

TEST(ResumeTest, SaysWhichHooksAreNew) {
  Json json = DigitsExperiment(2);
  json["hooks"] = Json::array();
  TestRun before(json);
  before.trainer().Start();
  before.trainer().on_epoch_committed.Bind(
      [](TrainerContext& context) { context.trainer->RequestStop(); });
  before.trainer().Run();
  const Snapshot snapshot = before.trainer().TakeSnapshot();
  json["hooks"] = {{{"type", "EMA"}},
                   {{"type", "EarlyStopping"}, {"patience", 3}}};
  TestRun run(json);
  run.trainer().Restore(snapshot);
  ExpectIn("\"EMA\", \"EarlyStopping\" is new",
           run.sink.Of("notice").at(0)["text"].get<std::string>());
}

TEST(ResumeTest, TakesCheckpointsOfHooksThatHadAStateInEarlierVersions) {
  Json json = DigitsExperiment(2);
  json["hooks"] = {{{"type", "NanGuard"}}};
  TestRun before(json);
  before.trainer().Start();
  Snapshot snapshot = before.trainer().TakeSnapshot();
  snapshot.json["hooks"]["NanGuard"] = {{"in_a_row", 0}, {"skipped", 1}};
  TestRun run(json);
  EXPECT_NO_THROW(run.trainer().Restore(snapshot));
}

TEST(RegroupingTest, ConvertsByTheSamplesThatWereSeen) {
  EXPECT_EQ(ConvertBatch(6, {2, 50}, {1, 50}, 100), 12);
  EXPECT_EQ(ConvertBatch(6, {1, 50}, {2, 50}, 100), 3);
  EXPECT_EQ(ConvertBatch(6, {1, 50}, {4, 25}, 100), 3);
  EXPECT_EQ(ConvertBatch(5, {1, 50}, {2, 50}, 100), std::nullopt);
  EXPECT_EQ(ConvertBatch(0, {4, 8}, {3, 7}, 0), 0);
  // Behind the end.
  EXPECT_EQ(ConvertBatch(6, {2, 50}, {1, 50}, 12), std::nullopt);
  // Other data: other samples.
  EXPECT_EQ(ConvertBatch(6, {1, 50, 900}, {1, 50, 901}, 100), std::nullopt);
  EXPECT_EQ(ConvertBatch(0, {1, 50, 900}, {1, 50, 901}, 100), 0);
  EXPECT_EQ(ConvertBatch(6, {2, 50}, {1, 50}, kEndless), 12);
}

TEST(RegroupingTest, MetersOfAllRanksCountOnce) {
  const Json meters = Json::parse(
      R"([[{"name": "loss", "sum": 3.0, "samples": 2.0}],
          [{"name": "loss", "sum": 5.0, "samples": 4.0},
           {"name": "extra", "sum": 1.0, "samples": 1.0}]])");
  EXPECT_EQ(MergeMeters(meters, 0),
            Json::parse(
                R"([{"name": "loss", "sum": 8.0, "samples": 6.0},
          {"name": "extra", "sum": 1.0, "samples": 1.0}])"));
  EXPECT_EQ(MergeMeters(meters, 1),
            Json::parse(
                R"([{"name": "loss", "sum": 0.0, "samples": 0.0},
          {"name": "extra", "sum": 0.0, "samples": 0.0}])"));
}

TEST(RegroupingTest, RanksShareWhatWasLeftOut) {
  const Json ranks =
      Json::parse(R"([{"skipped": 4, "skipped_of_round": 1}, {"skipped": 3}])");
  EXPECT_EQ(ShareSkipped(ranks, 0, 1).samples, 7);
  EXPECT_EQ(ShareSkipped(ranks, 0, 1).of_round, 1);
  int64_t sum = 0;
  for (int rank = 0; rank < 3; ++rank) {
    sum += ShareSkipped(ranks, rank, 3).samples;
    EXPECT_LE(ShareSkipped(ranks, rank, 3).samples, 3);
  }
  EXPECT_EQ(sum, 7);
}

}  // namespace
}  // namespace epochd::engine
