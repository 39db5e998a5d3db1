// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/prediction_runner.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/loop/tiny_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/loader.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

// 0, 1, 2, ... as inputs of a model that multiplies by 1.
std::unique_ptr<BatchSource> Counted(int64_t count, int threads,
                                     Batch extra = {}) {
  Batch columns = {{"input", at::arange(count, at::kFloat).unsqueeze(1)}};
  columns.Merge(extra);
  return MakeLoader(std::make_shared<TensorDataset>(columns),
                    {.batch_size = 4, .threads = threads});
}

struct PredictRun {
  PredictRun(std::unique_ptr<BatchSource> source,
             PredictionRunner::Options options)
      : communicator(MakeSingleCommunicator()) {
    model = std::make_shared<WeightsModel>();
    {
      const c10::NoGradGuard no_grad;
      model->w.fill_(1.0);
    }
    Trainer::Parts parts;
    parts.model = model;
    parts.training_runner = std::make_shared<TrainingRunner>(
        std::make_shared<Sgd>(model->Parameters(), Sgd::Options()),
        TrainingRunner::Options());
    parts.validation_runner = std::make_shared<ValidationRunner>();
    parts.prediction_runner = std::make_shared<PredictionRunner>(options);
    parts.predict = std::move(source);
    trainer = std::make_unique<Trainer>(
        std::move(parts), RunEnvironment{.communicator = communicator.get(),
                                         .events = &sink,
                                         .output_dir = {}});
  }

  CollectingSink sink;
  std::unique_ptr<Communicator> communicator;
  std::shared_ptr<WeightsModel> model;
  std::unique_ptr<Trainer> trainer;
};

class Ending : public Hook {
 public:
  const char* name() const override { return "Ending"; }
  void Setup(Trainer&) override { told += "setup "; }
  void OnException(TrainerContext&, const std::exception&) override {
    told += "exception ";
  }
  void Finalize(TrainerContext&, RunResult result) override {
    told += std::string(ToString(result)) + " ";
  }
  void Teardown(Trainer&) override { told += "teardown"; }

  std::string told;
};

TEST(PredictionTest, Case182GivesEachBatchItsIndicesWithThreadsToo) {
  for (const bool join : {true, false}) {
    PredictRun run(Counted(10, 2), {.join = join});
    std::vector<std::vector<int64_t>> indices;
    run.trainer->prediction_runner().on_post_step.Bind(
        [&](PredictionContext& context) {
          indices.push_back(context.indices);
          EXPECT_FLOAT_EQ(context.outputs.At("output")[0].item<float>(),
                          static_cast<float>(context.indices[0]));
        });
    const auto result = run.trainer->Predict();
    EXPECT_EQ(indices, (std::vector<std::vector<int64_t>>{
                           {0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->joined.empty(), !join);
    if (join) {
      EXPECT_TRUE(
          result->joined.At("output").equal(at::arange(10, at::kFloat)));
    }
  }
}

TEST(PredictionTest, Case184EndsWhatItBeganInEveryCase) {
  PredictRun none(nullptr, {});
  auto untouched = std::make_shared<Ending>();
  none.trainer->AddHook(untouched);
  EXPECT_FALSE(none.trainer->Predict().has_value());
  EXPECT_EQ(untouched->told, "");

  PredictRun empty(Counted(0, 0), {});
  auto failed = std::make_shared<Ending>();
  empty.trainer->AddHook(failed);
  EXPECT_NE(ErrorOf([&] { empty.trainer->Predict(); }).find("has no batch"),
            std::string::npos);
  EXPECT_EQ(failed->told, "setup exception failed teardown");

  PredictRun good(Counted(5, 0), {});
  auto succeeded = std::make_shared<Ending>();
  good.trainer->AddHook(succeeded);
  EXPECT_TRUE(good.trainer->Predict().has_value());
  EXPECT_EQ(succeeded->told, "setup success teardown");
}

class Counting : public Hook {
 public:
  const char* name() const override { return "Counting"; }
  void AttachToPrediction(PredictionRunner& runner) override {
    runner.on_post_step.Bind([this](PredictionContext&) { ++batches; });
  }

  int batches = 0;
};

TEST(PredictionTest, HooksOfTheTrainerTakePartUnlessOutOfScope) {
  PredictRun run(Counted(10, 0), {});
  auto inside = std::make_shared<Counting>();
  auto outside = std::make_shared<Counting>();
  outside->set_scope({"train"});
  run.trainer->AddHook(inside);
  run.trainer->AddHook(outside);
  EXPECT_TRUE(run.trainer->Predict().has_value());
  EXPECT_EQ(inside->batches, 3);
  EXPECT_EQ(outside->batches, 0);
}

TEST(PredictionTest, RemovesPaddingThatTheMaskMarks) {
  Batch mask = {{"mask", at::tensor({1, 1, 0, 1, 0, 1}, at::kLong)}};
  PredictRun run(Counted(6, 0, mask), {});
  const auto result = run.trainer->Predict();
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(
      result->joined.At("output").equal(at::tensor({0.0F, 1.0F, 3.0F, 5.0F})));
  EXPECT_EQ(result->indices, (std::vector<int64_t>{0, 1, 3, 5}));
}

TEST(PredictionTest, Case108TwoRanksGiveEachOf82SamplesOnceInOrder) {
  std::vector<PredictionRunner::Result> parts;
  for (int rank : {0, 1}) {
    PredictRun run(
        MakeLoader(std::make_shared<TensorDataset>(Batch{
                       {"input", at::arange(82, at::kFloat).unsqueeze(1)}}),
                   {.batch_size = 8, .rank = rank, .world_size = 2}),
        {});
    parts.push_back(*run.trainer->Predict());
  }
  const auto all = JoinRanks({FromBytes(ToBytes(parts[0])), parts[1]});
  EXPECT_TRUE(all.joined.At("output").equal(at::arange(82, at::kFloat)));
  EXPECT_EQ(all.indices.size(), 82u);
}

TEST(PredictionTest, JoinsRanksInTheOrderOfTheData) {
  PredictionRunner::Result first;
  first.joined = {{"output", at::tensor({0.0F, 2.0F, 4.0F})}};
  first.indices = {0, 2, 4};
  first.num_batches = 1;
  PredictionRunner::Result second;
  second.joined = {{"output", at::tensor({1.0F, 3.0F})}};
  second.indices = {1, 3};
  second.num_batches = 1;
  const auto all =
      JoinRanks({FromBytes(ToBytes(first)), FromBytes(ToBytes(second))});
  EXPECT_TRUE(all.joined.At("output").equal(at::arange(5, at::kFloat)));
  EXPECT_EQ(all.num_batches, 2);
}

TEST(PredictionTest, DataThatNeverEndIsRefused) {
  Json json = DigitsExperiment(1);
  json["task"] = "predict";
  json["data"]["predict"] = json["data"]["val"];
  json["data"]["predict"]["endless"] = true;
  json["data"].erase("train");
  try {
    TestRun run(json);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("data.predict: never ends"),
              std::string::npos)
        << error.what();
  }
}

TEST(PredictionTest, PredictsFromAJobFile) {
  Json json = DigitsExperiment(1);
  json["task"] = "predict";
  const Json val = json["data"]["val"];
  json["data"]["predict"] = val;
  json["data"].erase("train");
  json["prediction_runner"] = {{"type", "PredictionRunner"},
                               {"fields", {"output", "target"}}};
  TestRun run(json);
  const auto result = run.trainer().Predict();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->joined.At("output").size(0),
            result->joined.At("target").size(0));
  EXPECT_EQ(result->joined.At("output").size(0),
            static_cast<int64_t>(result->indices.size()));
}

}  // namespace
}  // namespace epochd::engine
