// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/registry/experiment.h"

#include <gtest/gtest.h>

#include "tests/worker/engine/digits_run.h"
#include "tests/worker/engine/error_of.h"

namespace epochd::engine {
namespace {

std::string WhyRefused(const Json& json) {
  return BadSpecOf([&] { TestRun run(json); });
}

TEST(ExperimentTest, BuildsTheSameWeightsFromTheSameSeed) {
  Json json = DigitsExperiment(1);
  TestRun first(json);
  TestRun second(json);
  EXPECT_TRUE(first.Weights().equal(second.Weights()));
  json["seed"] = 8;
  TestRun other(json);
  EXPECT_FALSE(first.Weights().equal(other.Weights()));
}

TEST(ExperimentTest, TakesSeedAndDeterminismFromRandomness) {
  Json json = DigitsExperiment(1);
  TestRun first(json);
  json.erase("seed");
  json["randomness"] = {{"seed", 7}, {"deterministic", true}};
  TestRun second(json);
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  EXPECT_TRUE(first.Weights().equal(second.Weights()));
  EXPECT_EQ(second.experiment.seed, 7u);
  json.erase("randomness");
  TestRun third(json);
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());
  EXPECT_EQ(third.experiment.seed, 0u);
}

TEST(ExperimentTest, IsTheSameOnceResolved) {
  const Json json = DigitsExperiment(1);
  const Json resolved = catalogue::Resolve(TestRegistry().catalogue(), json);
  EXPECT_NE(resolved, json);
  EXPECT_EQ(catalogue::Resolve(TestRegistry().catalogue(), resolved).dump(),
            resolved.dump());
  TestRun first(json);
  TestRun second(resolved);
  first.trainer().Start();
  first.trainer().Run();
  second.trainer().Start();
  second.trainer().Run();
  EXPECT_TRUE(first.Weights().equal(second.Weights()));
}

TEST(ExperimentTest, ReportsEveryViolationAtOnce) {
  Json json = DigitsExperiment(1);
  json["model"]["hiden"] = {1};
  json["optimizer"]["lr"] = "fast";
  json["loss"]["type"] = "CrossEntropi";
  const std::string reason = WhyRefused(json);
  EXPECT_NE(reason.find("experiment.model"), std::string::npos) << reason;
  EXPECT_NE(reason.find("experiment.optimizer.lr"), std::string::npos);
  EXPECT_NE(reason.find("experiment.loss"), std::string::npos);
}

TEST(ExperimentTest, AMonitorKnowsByItsMetricWhichWayIsBetter) {
  const auto is_higher = [](const Json& monitor) {
    Json json = DigitsExperiment(1);
    json["metrics"] = {{{"type", "Accuracy"}},
                       {{"type", "MAE"}, {"name", "apart"}},
                       {{"type", "F1"}, {"per_class", true}}};
    json["monitor"] = monitor;
    TestRun run(json);
    return run.trainer().monitor().higher_is_better;
  };
  EXPECT_TRUE(is_higher({{"metric", "val/accuracy"}}));
  EXPECT_TRUE(is_higher({{"metric", "val/f1"}}));
  EXPECT_TRUE(is_higher({{"metric", "val/f1/3"}}));
  EXPECT_FALSE(is_higher({{"metric", "val/apart"}}));
  EXPECT_FALSE(is_higher({{"metric", "val/loss"}}));
  EXPECT_FALSE(is_higher({{"metric", "val/accuracy"}, {"mode", "min"}}));
  EXPECT_TRUE(is_higher({{"metric", "val/loss"}, {"mode", "max"}}));
}

TEST(ExperimentTest, RefusesWhatTheCatalogueCannotSay) {
  struct Case {
    const char* patch;  // merged into the experiment
    const char* reason;
  };
  const Case kCases[] = {
      {R"({"loss": null})", "experiment.loss"},
      {R"({"optimizer": null})", "experiment.optimizer"},
      {R"({"data": {"train": null}})", "experiment.data.train"},
      {R"({"data": {"train": {"batch_size": 100000, "drop_last": true}}})",
       "experiment.data.train.batch_size: 100000 leaves no full batch"},
      {R"({"data": {"train": {"split": null, "type": "Subset", "indices": [],
                              "file": null, "dataset": {"type": "Digits"}}}})",
       "experiment.data.train: no sample is left; training needs"},
      {R"({"runner": {"type": "TrainingRunner", "precision": "fp16",
                      "grad_scaler": {"init_scale": 1e300}}})",
       "experiment.runner.grad_scaler: init_scale: 1e+300; up to 3.4e38 is"},
      {R"({"model": {"hidden": [2000000000, 2000000000]}})",
       "experiment.model.hidden: 2000000000 makes a layer of 128000000000.0"},
      {R"({"monitor": {"mode": "most"}})", "known are min, max"},
      {R"({"monitor": {"metrik": "val/loss"}})", "did you mean 'metric'?"},
      {R"({"monitor": {"metric": "val/acuracy"}})",
       "experiment.monitor.metric: no loss, metric or hook of this experiment "
       "gives 'val/acuracy', did you mean 'val/accuracy'?"},
      {R"({"hooks": [{"type": "EarlyStopping", "patience": 1,
                      "metric": "val/acuracy"}]})",
       "experiment.hooks[0].metric: no loss, metric or hook of this experiment "
       "gives 'val/acuracy', did you mean 'val/accuracy'?"},
      {R"({"hooks": [{"type": "CheckpointSaver", "monitor": "val/los"}]})",
       "experiment.hooks[0].monitor: no loss, metric or hook of this "
       "experiment gives 'val/los', did you mean 'val/loss'?"},
      {R"({"lr_scheduler": [{"type": "ReduceOnPlateau",
                              "monitor": "vall/loss"}]})",
       "gives 'vall/loss', did you mean 'val/loss'?"},
      {R"({"data": {"vla": {"type": "Digits"}}})", "did you mean 'val'?"},
      {R"({"randomness": {"seed": 8}})",
       "experiment.randomness.seed: 8 beside seed 7, which means the same"},
      {R"({"runner": {"type": "GanTrainingRunner",
                      "d_loss": {"type": "RaGanDiscriminatorLoss"},
                      "g_loss": {"type": "RaGanGeneratorLoss"}},
           "optimizers": {"generator": {"type": "SGD", "lr": 1},
                          "discriminator": {"type": "SGD", "lr": 1}}})",
       "experiment.loss: CrossEntropy reads output, target, expected a loss "
       "that reads fake, which GanTrainingRunner makes"}};
  for (const Case& each : kCases) {
    Json json = DigitsExperiment(1);
    json.merge_patch(Json::parse(each.patch));
    if (Json& data = json["data"];
        data.contains("train") && data["train"].contains("dataset")) {
      data["train"]["dataset"]["file"] = DigitsFile();
    }
    const std::string reason = WhyRefused(json);
    EXPECT_NE(reason.find(each.reason), std::string::npos)
        << each.patch << " gave \"" << reason << "\"";
  }
}

TEST(ExperimentTest, LoadsBlocksOfSrForge) {
  Json json = Json::parse(R"json({
    "system": {"device": "cpu"},
    "postprocessing": [],
    "model": {"type": "MLP", "in_features": 64, "hidden": [8],
              "out_features": 10},
    "data": {"train": {"type": "Digits", "split": "train", "batch_size": 500},
             "val": {"type": "Digits", "split": "val", "batch_size": 500}},
    "loss": {"_target_": "torch.nn.CrossEntropyLoss"},
    "optimizer": {"_target": "torch.optim.SGD", "params": {"lr": 0.1}},
    "lr_scheduler": {"_target": "torch.optim.lr_scheduler.CosineAnnealingLR",
                     "params": {"T_max": 2}},
    "training_runner": {
      "_target": "srforge.training.runners.TrainingEpochRunner",
      "params": {"optimizer": "${ref:optimizer}", "device": "cpu",
                 "postprocessor": [],
                 "gradient_accumulation_steps": 2}},
    "validation_runner": {
      "_target": "srforge.training.runners.ValidationEpochRunner",
      "params": {"device": "cpu"}},
    "trainer": {
      "_target": "srforge.training.trainers.PyTorchTrainer",
      "params": {"epochs": 2, "model": "${ref:model}",
                 "training_epoch_runner": "${ref:training_runner}",
                 "validation_epoch_runner": "${ref:validation_runner}",
                 "training_criterion": "${ref:loss}",
                 "validation_criterion": "${ref:loss}",
                 "lr_scheduler": "${ref:lr_scheduler}",
                 "stop_condition": {
                   "_target": "ValidationLossDidNotImprove",
                   "params": {"patience": 5, "min_delta": 0.0}}}}})json");
  json["data"]["train"]["file"] = DigitsFile();
  json["data"]["val"]["file"] = DigitsFile();
  TestRun run(json);
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_EQ(run.trainer().position().epoch, 2);
  // Three batches an epoch, two steps.
  EXPECT_EQ(run.trainer().position().step, 4);
}

TEST(ExperimentTest, TrainingAndValidationNumberClassesAlike) {
  const TempFolder folder;
  for (const char* name : {"1/cat/x.png", "1/dog/x.png", "2/dog/x.png"}) {
    folder.Write(name, "");
  }
  const auto build = [&](const Json& classes) {
    Json json = DigitsExperiment(1);
    for (const auto& [part, name] : {std::pair("train", "1"), {"val", "2"}}) {
      json["data"][part] = {{"type", "ImageFolder"},
                            {"folder", folder / name},
                            {"batch_size", 1}};
      if (!classes.empty()) json["data"][part]["classes"] = classes;
    }
    TestRun run(json);
  };
  EXPECT_NE(BadSpecOf([&] {
              build({});
            }).find("experiment.data.val: class 0 is another"),
            std::string::npos);
  build({"cat", "dog"});
}

}  // namespace
}  // namespace epochd::engine
