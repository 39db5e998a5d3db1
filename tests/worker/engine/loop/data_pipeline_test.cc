// SPDX-License-Identifier: Apache-2.0
//
// Samplers, preprocessor and unreadable samples as a whole run has them.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::engine {
namespace {

// Images, a balanced sampler, MixUp or CutMix for most batches.
Json MixedExperiment(int epochs) {
  Json json = DigitsExperiment(epochs);
  for (const char* part : {"train", "val"}) {
    json["data"][part]["image"] = true;
    json["data"][part].erase("transforms");
  }
  json["model"] = {{"type", "MLP"},
                   {"in_features", 64},
                   {"hidden", {16}},
                   {"out_features", 10},
                   {"dropout", 0.1}};
  json["data"]["train"].erase("shuffle");
  json["data"]["train"]["sampler"] = {{"type", "BalancedSampler"},
                                      {"per_class", 90}};
  json["preprocessor"] = {
      {"type", "DevicePreprocessor"},
      {"mean", 4.88},
      {"std", 6.02},
      {"batch_augments",
       {{{"type", "MixUp"}, {"alpha", 0.4}, {"num_classes", 10}},
        {{"type", "CutMix"}, {"num_classes", 10}}}},
      {"batch_augment_chances", {0.5, 0.3}}};
  return json;
}

struct Ending {
  at::Tensor weights;
  Scores scores;  // of the last epoch
};

Ending Finish(TestRun& run) {
  Ending ending;
  run.trainer().on_epoch_finished.Bind(
      [&](TrainerContext& context) { ending.scores = context.scores; });
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  ending.weights = run.Weights();
  return ending;
}

Ending Straight(const Json& json) {
  TestRun run(json);
  run.trainer().Start();
  return Finish(run);
}

Snapshot After(const Json& json, int64_t batches) {
  return SnapshotWhen(json, [batches](const Position& position) {
    return position.global_batch == batches;
  });
}

TEST(DataPipelineTest, GoesOnInMidEpochWithBalancedSamplesAndMixedBatches) {
  Json json = MixedExperiment(2);
  const Ending straight = Straight(json);
  for (int64_t batches : {1, 4, 7, 10}) {
    const Snapshot snapshot = After(json, batches);
    for (int threads : {0, 3}) {
      json["data"]["train"]["threads"] = threads;
      // Nothing without a GPU.
      json["data"]["train"]["pin_memory"] = threads > 0;
      TestRun run(json);
      run.trainer().Restore(snapshot);
      const Ending resumed = Finish(run);
      EXPECT_TRUE(resumed.weights.equal(straight.weights)) << batches;
      EXPECT_EQ(resumed.scores, straight.scores) << batches;
    }
  }
}

TEST(DataPipelineTest, BatchAugmentsTakePartInTrainingAlone) {
  TestRun run(MixedExperiment(1));
  int64_t mixed = 0;
  auto& training =
      dynamic_cast<TrainingRunner&>(run.trainer().training_runner());
  training.on_pre_step.Bind([&](RunnerContext& context) {
    mixed += context.entry->At("target").dim() == 2;
    EXPECT_LT(context.entry->At("input").abs().max().item<float>(), 3.0f);
  });
  run.trainer().validation_runner().on_pre_step.Bind(
      [&](RunnerContext& context) {
        EXPECT_EQ(context.entry->At("target").scalar_type(), at::kLong);
        EXPECT_LT(context.entry->At("input").abs().max().item<float>(), 3.0f);
      });
  run.trainer().Start();
  run.trainer().Run();
  // 8 batches of 900 balanced samples.
  EXPECT_GT(mixed, 2);
  EXPECT_LE(mixed, 8);
}

TEST(DataPipelineTest, PredictionsSeePreprocessedBatches) {
  Json json = MixedExperiment(1);
  json["task"] = "predict";
  json["data"]["predict"] = json["data"]["val"];
  TestRun run(json);
  float greatest = 0;
  run.trainer().prediction_runner().on_pre_step.Bind(
      [&](PredictionContext& context) {
        greatest = std::max(
            greatest, context.entry->At("input").abs().max().item<float>());
      });
  const auto result = run.trainer().Predict();
  ASSERT_TRUE(result.has_value());
  EXPECT_GT(greatest, 1.0f);
  EXPECT_LT(greatest, 3.0f);
}

TEST(DataPipelineTest, WaitingForDataIsPartOfTheEpochsTime) {
  TestRun run(MixedExperiment(2));
  std::vector<double> waits;
  run.trainer().on_epoch_finished.Bind([&](TrainerContext& context) {
    EXPECT_LE(context.data_wait_seconds, context.seconds);
    waits.push_back(context.data_wait_seconds);
  });
  run.trainer().Start();
  run.trainer().Run();
  ASSERT_EQ(waits.size(), 2u);
  for (double wait : waits) EXPECT_GT(wait, 0.0);
}

// A list of digits of which some cannot be read.
class BrokenDigits : public Dataset {
 public:
  int64_t Size() const override { return 40; }
  Batch Get(int64_t index, const SampleSeed& /*seed*/) const override {
    if (index % 13 == 5) throw Error(ErrorKind::kBadSpec, "digit.png: broken");
    return Batch{{"input", at::full({64}, static_cast<float>(index % 10))},
                 {"target", at::scalar_tensor(index % 10, at::kLong)}};
  }
};

const Registry& RegistryWithBroken() {
  static const Registry registry = [] {
    Registry filled;
    AddBuiltins(filled);
    filled.Add(hooks::BuiltinHooks());
    filled.Add<Dataset>(
        {{{.kind = "dataset", .name = "BrokenDigits", .help = "for tests"},
          [](const Params&) -> std::shared_ptr<Dataset> {
            return std::make_shared<BrokenDigits>();
          }}});
    filled.Freeze();
    return filled;
  }();
  return registry;
}

Json SkippingExperiment(const char* policy) {
  Json json = DigitsExperiment(2);
  for (const char* part : {"train", "val"}) {
    json["data"][part] = {
        {"type", "BrokenDigits"}, {"batch_size", 8}, {"on_error", policy}};
  }
  return json;
}

TEST(DataPipelineTest, UnreadableSamplesAreCountedAndTold) {
  const auto communicator = MakeSingleCommunicator();
  CollectingSink sink;
  Experiment experiment =
      BuildExperiment(RegistryWithBroken(), SkippingExperiment("skip"),
                      {.environment = {.communicator = communicator.get(),
                                       .events = &sink,
                                       .output_dir = ""}});
  std::vector<Scores> scores;
  experiment.trainer->on_epoch_finished.Bind(
      [&](TrainerContext& context) { scores.push_back(context.scores); });
  experiment.trainer->Start();
  experiment.trainer->Run();
  ASSERT_EQ(scores.size(), 2u);
  for (const Scores& each : scores) {
    EXPECT_EQ(*FindScore(each, "train/skipped_samples"), 3.0);
    EXPECT_EQ(*FindScore(each, "val/skipped_samples"), 3.0);
  }
  const auto notices = sink.Of("notice");
  ASSERT_EQ(notices.size(), 4u);
  const std::string text = notices[0]["text"];
  EXPECT_NE(text.find("experiment.data.train: 3 samples"), std::string::npos);
  EXPECT_NE(text.find("sample 5: digit.png: broken"), std::string::npos);
}

// 40 samples in 5 batches, of which batches 1, 3 and 4 have a broken one.
TEST(DataPipelineTest, UnreadableSamplesOfAnEarlierAttemptCount) {
  const auto run = [](int64_t allowed, int64_t stop_at,
                      const Snapshot* resumed) -> std::optional<Snapshot> {
    Json json = SkippingExperiment("skip");
    json["data"]["train"]["max_skipped"] = allowed;
    const auto communicator = MakeSingleCommunicator();
    CollectingSink sink;
    Experiment experiment =
        BuildExperiment(RegistryWithBroken(), json,
                        {.environment = {.communicator = communicator.get(),
                                         .events = &sink,
                                         .output_dir = ""}});
    Trainer& trainer = *experiment.trainer;
    std::optional<Snapshot> snapshot;
    trainer.on_step_boundary.Bind([&](TrainerContext& context) {
      if (context.trainer->position().global_batch != stop_at) return;
      snapshot = context.trainer->TakeSnapshot();
      context.trainer->RequestStop();
    });
    trainer.on_epoch_finished.Bind([&](TrainerContext& context) {
      EXPECT_EQ(*FindScore(context.scores, "train/skipped_samples"), 3.0);
    });
    if (resumed != nullptr) {
      trainer.Restore(*resumed);
      // Also where it is saved again before it goes on.
      const Snapshot again = trainer.TakeSnapshot();
      EXPECT_EQ(again.json.at("ranks").at(0).at("skipped"), 2);
    } else {
      trainer.Start();
    }
    trainer.Run();
    return snapshot;
  };
  const std::optional<Snapshot> snapshot = run(3, 3, nullptr);
  ASSERT_TRUE(snapshot);
  run(3, -1, &*snapshot);
  EXPECT_THROW(run(2, -1, &*snapshot), Error);
  EXPECT_THROW(run(2, -1, nullptr), Error);
}

TEST(DataPipelineTest, UnreadableSamplesAreAnErrorByDefault) {
  const auto communicator = MakeSingleCommunicator();
  CollectingSink sink;
  Experiment experiment =
      BuildExperiment(RegistryWithBroken(), SkippingExperiment("fail"),
                      {.environment = {.communicator = communicator.get(),
                                       .events = &sink,
                                       .output_dir = ""}});
  experiment.trainer->Start();
  try {
    experiment.trainer->Run();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "data: sample 5: digit.png: broken");
  }
}

TEST(DataPipelineTest, RefusesASamplerThatDoesNotGoWithTheData) {
  const auto why = [](Json train) {
    Json json = MixedExperiment(1);
    json["data"]["train"].update(train);
    try {
      TestRun run(json);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(why({{"shuffle", true}}).find("experiment.data.train.shuffle"),
            std::string::npos);
  EXPECT_NE(why({{"sampler", {{"type", "BucketSampler"}}}})
                .find("experiment.data.train: field \"length\""),
            std::string::npos);
  EXPECT_NE(why({{"sampler", {{"type", "WeightedSampler"}}}})
                .find("experiment.data.train.sampler"),
            std::string::npos)
      << why({{"sampler", {{"type", "WeightedSampler"}}}});
  EXPECT_NE(
      why({{"sampler", {{"type", "InfiniteSampler"}}}}).find("never ends"),
      std::string::npos);
}

TEST(DataPipelineTest, AFieldIsMixedOnce) {
  for (const char* name : {"target", "input", "mask"}) {
    Json json = MixedExperiment(1);
    json["preprocessor"]["batch_augments"][0]["also"] = {"mask", name};
    const std::string error = ErrorOf([&] { TestRun run(json); });
    EXPECT_NE(error.find("batch_augments[0].also"), std::string::npos) << error;
    EXPECT_NE(error.find(std::string(name) + "\" is mixed anyway"),
              std::string::npos)
        << error;
  }
}

}  // namespace
}  // namespace epochd::engine
