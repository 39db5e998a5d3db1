// SPDX-License-Identifier: Apache-2.0
//
// Physics-informed training in the loop: losses that differentiate the model
// by its inputs, under accumulation, half precision, L-BFGS and validation.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/worker/engine/burgers_run.h"
#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/loop/trainer.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::engine {
namespace {

using ScoreMap = std::map<std::string, double>;

// Scores of each epoch.
std::vector<ScoreMap> Train(TestRun& run) {
  std::vector<ScoreMap> all;
  run.trainer().on_epoch_finished.Bind([&all](TrainerContext& context) {
    all.emplace_back(context.scores.begin(), context.scores.end());
  });
  run.trainer().Start();
  EXPECT_EQ(run.trainer().Run(), Trainer::Outcome::kCompleted);
  return all;
}

std::vector<ScoreMap> Train(const Json& json) {
  TestRun run(json);
  return Train(run);
}

double RelativeError(Model& model) {
  Batch reference;
  for (auto& [name, tensor] : ReadSafetensors(BurgersFile())) {
    reference.Set(name, tensor);
  }
  const c10::NoGradGuard no_grad;
  model.SetTraining(false);
  const at::Tensor& truth = reference.At("target");
  const at::Tensor error = model.Forward(reference).At("output") - truth;
  return (error.norm() / truth.norm()).item<double>();
}

TEST(PinnRunTest, NamesItsLossesAndTheirWeights) {
  const std::vector<ScoreMap> scores = Train(BurgersExperiment(2));
  for (const char* name :
       {"train/loss", "train/burgers", "train/initial", "train/boundary",
        "train/weight/burgers", "train/weight/initial", "val/loss"}) {
    ASSERT_TRUE(scores.back().contains(name)) << name;
    EXPECT_TRUE(std::isfinite(scores.back().at(name))) << name;
  }
  EXPECT_NE(scores.back().at("train/weight/initial"), 1.0);
  EXPECT_LT(scores.back().at("train/loss"), scores.front().at("train/loss"));
}

TEST(PinnRunTest, AccumulatedBatchesAreOneBatch) {
  Json json = BurgersExperiment(2);
  json["loss_balancer"] = {{"type", "Static"}, {"weights", {{"initial", 5}}}};
  json["optimizer"] = {{"type", "SGD"}, {"lr", 0.01}};
  TestRun whole(json);
  Train(whole);
  json["data"]["train"]["batch_size"] = 4;
  json["runner"] = {{"type", "TrainingRunner"},
                    {"gradient_accumulation_steps", 4}};
  TestRun parts(json);
  Train(parts);
  EXPECT_TRUE(at::allclose(parts.Weights(), whole.Weights(), 1e-5, 1e-6));
  EXPECT_EQ(parts.trainer().position().step, whole.trainer().position().step);
}

TEST(PinnRunTest, HalfPrecisionGoesTheSameWay) {
  Json json = BurgersExperiment(6);
  const double exact = Train(json).back().at("train/loss");
  for (const char* precision : {"bf16", "fp16"}) {
    json["trainer"]["precision"] = precision;
    TestRun run(json);
    const double loss = Train(run).back().at("train/loss");
    EXPECT_NE(loss, exact) << precision;
    EXPECT_NEAR(loss, exact, 0.15 * exact) << precision;
  }
}

TEST(PinnRunTest, LbfgsEvaluatesTheEquationsAgain) {
  Json json = BurgersExperiment(12);
  json["loss_balancer"] = {{"type", "Static"}, {"weights", {{"initial", 5}}}};
  json["data"]["train"]["batch_size"] = 64;
  json["data"]["train"]["sets"]["interior"]["resample"] = false;
  json["optimizer"] = {
      {"type", "LBFGS"}, {"max_iter", 10}, {"line_search_fn", "strong_wolfe"}};
  const std::vector<ScoreMap> scores = Train(json);
  EXPECT_LT(scores.back().at("train/loss"),
            0.2 * scores.front().at("train/loss"));
}

// Four steps an epoch: Adam for one and a half epochs, then L-BFGS.
Json AdamThenLbfgs(int epochs) {
  Json json = BurgersExperiment(epochs);
  json["optimizer"] = {{"type", "SequentialOptimizer"},
                       {"optimizers",
                        {{{"type", "Adam"}, {"lr", 0.003}},
                         {{"type", "LBFGS"},
                          {"max_iter", 4},
                          {"line_search_fn", "strong_wolfe"}}}},
                       {"milestones", 6}};
  // Of Adam's rate alone.
  json["lr_scheduler"] = {
      {"type", "ExponentialLR"}, {"gamma", 0.9}, {"by", "step"}, {"end", 5}};
  return json;
}

TEST(PinnRunTest, AdamGivesWayToLbfgs) {
  TestRun run(AdamThenLbfgs(3));
  std::vector<double> rates;
  dynamic_cast<TrainingRunner&>(run.trainer().training_runner())
      .on_before_optimizer_step.Bind([&](RunnerContext& context) {
        rates.push_back(context.optimizer->lr());
      });
  const std::vector<ScoreMap> scores = Train(run);
  ASSERT_EQ(rates.size(), 12u);
  EXPECT_NEAR(rates[4], 0.003 * std::pow(0.9, 4), 1e-9);
  EXPECT_LT(rates[5], 0.003);
  EXPECT_EQ(rates[6], 1.0);
  EXPECT_EQ(rates.back(), 1.0);
  EXPECT_LT(scores.back().at("train/loss"), scores.front().at("train/loss"));
}

TEST(PinnRunTest, GoesOnBeforeAndBehindTheChangeOfOptimizers) {
  const Json json = AdamThenLbfgs(3);
  TestRun whole(json);
  std::vector<Snapshot> saved;
  whole.trainer().on_step_boundary.Bind([&](TrainerContext& context) {
    if (!context.can_save) return;
    saved.push_back(KeptSnapshot(whole.trainer()));
  });
  Train(whole);
  ASSERT_EQ(saved.size(), 12u);
  for (const Snapshot& snapshot : saved) {
    TestRun resumed(json);
    resumed.trainer().Restore(snapshot);
    resumed.trainer().Run();
    EXPECT_TRUE(resumed.Weights().equal(whole.Weights()))
        << resumed.trainer().position().step;
  }
}

TEST(PinnRunTest, ValidationMeasuresResidualsToo) {
  Json json = BurgersExperiment(1);
  Json points = json["data"]["train"];
  points["sets"]["interior"]["resample"] = false;
  points["shuffle"] = false;
  points["batch_size"] = 64;
  json["data"]["train"] = json["data"]["val"] = points;
  json.erase("val_loss");
  json.erase("loss_balancer");
  json["optimizer"] = {{"type", "SGD"}, {"lr", 0.0}};
  const ScoreMap scores = Train(json).back();
  for (const char* name : {"loss", "burgers", "initial", "boundary"}) {
    EXPECT_NEAR(scores.at(std::string("val/") + name),
                scores.at(std::string("train/") + name), 1e-7)
        << name;
  }
}

TEST(PinnRunTest, KernelBalancingTakesResiduals) {
  Json json = BurgersExperiment(1);
  json["loss_balancer"] = {
      {"type", "Ntk"}, {"kernel_size", 4}, {"update_every_n_steps", 2}};
  const ScoreMap scores = Train(json).back();
  EXPECT_NE(scores.at("train/weight/burgers"), 1.0);
  EXPECT_NE(scores.at("train/weight/boundary"), 1.0);
}

// The worked example in small: twenty steps of L-BFGS. Without the equation the
// network stays where the start and the boundary alone lead.
TEST(PinnRunTest, LearnsTheSolutionOfBurgersEquation) {
  Json json = BurgersExperiment(20);
  json["model"]["hidden"] = {20, 20, 20, 20};
  json["data"]["train"]["batch_size"] = 320;
  json["data"]["train"]["per_sample"]["interior"] = 4;
  Json& sets = json["data"]["train"]["sets"];
  sets["interior"]["points"] = 1280;
  sets["interior"]["resample"] = false;
  sets["initial"]["points"] = sets["boundary"]["points"] = 320;
  json["loss_balancer"] = {{"type", "Static"},
                           {"weights", {{"initial", 10}, {"boundary", 10}}}};
  json["optimizer"] = {{"type", "LBFGS"},
                       {"max_iter", 20},
                       {"history_size", 50},
                       {"line_search_fn", "strong_wolfe"}};
  json["trainer"]["val_interval"] = 20;
  TestRun run(json);
  EXPECT_GT(RelativeError(run.trainer().model()), 0.7);
  Train(run);
  EXPECT_LT(RelativeError(run.trainer().model()), 0.25);

  json["loss"].erase(0);
  TestRun blind(json);
  Train(blind);
  EXPECT_GT(RelativeError(blind.trainer().model()), 0.5);
}

}  // namespace
}  // namespace epochd::engine
