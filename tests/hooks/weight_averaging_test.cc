// SPDX-License-Identifier: Apache-2.0
#include "hooks/weight_averaging.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hooks/checkpoint_saver.h"
#include "tests/worker/engine/digits_run.h"
#include "worker/engine/checkpoint/checkpoint.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

using engine::Json;
using AverageKind = WeightAveraging::Kind;

Json AveragedExperiment(int epochs, const char* hook = nullptr) {
  Json json = engine::DigitsExperiment(epochs);
  json["hooks"] = Json::array();
  if (hook != nullptr) json["hooks"].push_back(Json::parse(hook));
  return json;
}

double First(const std::vector<engine::NamedTensor>& tensors) {
  return tensors.front().tensor.flatten()[0].item<double>();
}

// The average after each step when the weights are set to `weights` in turn.
std::vector<double> Averages(WeightAveraging::Options options,
                             std::vector<double> weights) {
  engine::TestRun run(AveragedExperiment(1));
  auto& runner =
      dynamic_cast<engine::TrainingRunner&>(run.trainer().training_runner());
  std::vector<double> averages;
  runner.on_post_step.Bind([&](engine::RunnerContext& context) {
    c10::NoGradGuard no_grad;
    const auto at = static_cast<size_t>(context.batch);
    if (at >= weights.size()) context.stop = true;
    for (const auto& each : context.model->Parameters()) {
      each.tensor.fill_(weights[std::min(at, weights.size() - 1)]);
    }
  });
  auto hook = std::make_shared<WeightAveraging>(options);
  run.trainer().AddHook(hook);
  runner.on_post_step.Bind([&](engine::RunnerContext& context) {
    if (static_cast<size_t>(context.batch) < weights.size()) {
      averages.push_back(hook->average().empty() ? NAN
                                                 : First(hook->average()));
    }
  });
  run.trainer().Start();
  run.trainer().Run();
  return averages;
}

void ExpectNear(const std::vector<double>& values,
                const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(values[i])) << i;
    } else {
      EXPECT_NEAR(values[i], expected[i], 1e-6) << i;
    }
  }
}

TEST(WeightAveragingTest, Case157TheFirstUpdateCopies) {
  ExpectNear(Averages({.momentum = .1}, {1, 1, 1}), {1, 1, 1});
  ExpectNear(Averages({.momentum = .1, .interval = 2}, {1, 2, 3, 4}),
             {1, 1, 1.2, 1.2});
  ExpectNear(Averages({.momentum = .1}, {0, 1, 1, 1}), {0, .1, .19, .271});
}

TEST(WeightAveragingTest, Case155FollowsTheWeightsUntilItBegins) {
  ExpectNear(Averages({.momentum = .1, .begin_step = 3}, {1, 2, 3, 4}),
             {NAN, NAN, 3, 3.1});
  engine::TestRun run(AveragedExperiment(
      3, R"({"type": "EMA", "momentum": 0.1, "begin_epoch": 2})"));
  std::vector<size_t> states;
  run.trainer().on_epoch_committed.Bind([&](engine::TrainerContext&) {
    states.push_back(run.trainer().TakeSnapshot().state.size());
  });
  run.trainer().Start();
  run.trainer().Run();
  // After epoch 1 there are only the weights; later an average beside them.
  ASSERT_EQ(states.size(), 3u);
  EXPECT_EQ(states[0] + run.trainer().model().Parameters().size(), states[1]);
}

TEST(WeightAveragingTest, SwaIsThePlainMean) {
  ExpectNear(Averages({.kind = AverageKind::kSwa}, {1, 2, 6, 3}),
             {1, 1.5, 3, 3});
}

TEST(WeightAveragingTest, AnnealingBeginsWithALargerMomentum) {
  const WeightAveraging hook(
      {.kind = AverageKind::kAnnealing, .momentum = .01, .gamma = 100});
  EXPECT_EQ(hook.MomentumOf(100), .5);
  EXPECT_EQ(hook.MomentumOf(1'000'000), .01);
}

TEST(WeightAveragingTest, Case152WarmUpGoesOnAfterARestart) {
  WeightAveraging before({.kind = AverageKind::kWarmup, .momentum = .0002});
  before.LoadState({{"updates", 1000}});
  WeightAveraging after({.kind = AverageKind::kWarmup, .momentum = .0002});
  after.LoadState(before.State());
  EXPECT_EQ(after.State()["updates"], 1000);
  EXPECT_NEAR(after.MomentumOf(1000), 1 - 1001.0 / 1010, 1e-12);
  EXPECT_NEAR(after.MomentumOf(0), .9, 1e-12);
}

TEST(WeightAveragingTest, Case154ValidatesTheRawWeightsUntilItBegins) {
  engine::TestRun plain(AveragedExperiment(1));
  engine::TestRun late(
      AveragedExperiment(1, R"({"type": "EMA", "begin_step": 1000})"));
  engine::TestRun early(AveragedExperiment(1, R"({"type": "EMA"})"));
  std::vector<double> losses;
  for (engine::TestRun* run : {&plain, &late, &early}) {
    run->trainer().on_epoch_finished.Bind([&](engine::TrainerContext& context) {
      losses.push_back(*engine::FindScore(context.scores, "val/loss"));
    });
    run->trainer().Start();
    run->trainer().Run();
  }
  EXPECT_EQ(losses[0], losses[1]);
  // With a momentum of 0.0002 it still is at the first step's weights.
  EXPECT_GT(losses[2], losses[0] * 1.05);
  // Training goes on with the raw weights.
  EXPECT_TRUE(at::equal(plain.Weights(), early.Weights()));
}

TEST(WeightAveragingTest, CheckpointsHoldTheAverageAndTheRestartBoth) {
  for (const char* hook :
       {R"({"type": "EMA", "momentum": 0.1})",
        R"({"type": "EMA", "momentum": 0.1, "checkpoint": "raw"})",
        R"({"type": "EMA", "decay": 0.9, "average_buffers": true})",
        R"({"type": "SWA"})", R"({"type": "SWA", "every": "3 steps"})"}) {
    engine::TestRun whole(AveragedExperiment(4, hook));
    whole.trainer().Start();
    whole.trainer().Run();
    engine::Snapshot middle;
    {
      engine::TestRun first(AveragedExperiment(4, hook));
      first.trainer().on_epoch_committed.Bind(
          [&](engine::TrainerContext& context) {
            if (context.epoch != 1) return;
            middle = engine::KeptSnapshot(first.trainer());
          });
      first.trainer().Start();
      first.trainer().Run();
    }
    engine::TestRun second(AveragedExperiment(4, hook));
    second.trainer().Restore(middle);
    second.trainer().Run();
    EXPECT_TRUE(at::equal(whole.Weights(), second.Weights())) << hook;
    const engine::Snapshot a = whole.trainer().TakeSnapshot();
    const engine::Snapshot b = second.trainer().TakeSnapshot();
    ASSERT_EQ(a.model.size(), b.model.size());
    for (size_t i = 0; i < a.model.size(); ++i) {
      EXPECT_TRUE(at::equal(a.model[i].tensor, b.model[i].tensor))
          << hook << " " << a.model[i].name;
    }
    const bool holds_raw = std::string(hook).find("raw") != std::string::npos;
    EXPECT_EQ(at::equal(a.model[0].tensor,
                        whole.trainer().model().Parameters()[0].tensor),
              holds_raw)
        << hook;
  }
}

TEST(WeightAveragingTest, AnEpochThatARunEndsInCountsWhenItIsWhole) {
  const auto average = [](engine::TestRun& run) {
    for (const auto& each : run.trainer().TakeSnapshot().model) {
      if (each.tensor.dim() == 2) return each.tensor.clone();
    }
    return at::Tensor();
  };
  Json json = AveragedExperiment(3, R"({"type": "SWA"})");
  engine::TestRun whole(json);
  whole.trainer().Start();
  whole.trainer().Run();
  Json part = json;
  part["trainer"]["max_steps"] = 2 * 12 + 6;
  engine::TestRun first(part);
  first.trainer().Start();
  first.trainer().Run();
  engine::Snapshot snapshot = first.trainer().TakeSnapshot();
  engine::TestRun second(json);
  second.trainer().Restore(snapshot);
  second.trainer().Run();
  EXPECT_TRUE(average(second).equal(average(whole)));
}

TEST(WeightAveragingTest, AveragesBothSidesOfAGan) {
  Json json = engine::GanExperiment(2);
  json["hooks"] = Json::array({{{"type", "EMA"}, {"momentum", 0.5}}});
  engine::TestRun run(json);
  run.trainer().Start();
  run.trainer().Run();
  const engine::Snapshot snapshot = run.trainer().TakeSnapshot();
  size_t raw = 0;
  for (const auto& each : snapshot.state) {
    raw += each.name.starts_with("hook.average.raw.") ? 1 : 0;
  }
  EXPECT_EQ(raw, run.trainer().model().Parameters().size());
  engine::TestRun second(json);
  second.trainer().Restore(snapshot);
  EXPECT_TRUE(at::equal(run.Weights(), second.Weights()));
}

TEST(WeightAveragingTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_THROW(engine::TestRun run(AveragedExperiment(
                   1, R"({"type": "EMA", "begin_step": 2, "begin_epoch": 2})")),
               engine::Error);
  Json two = AveragedExperiment(1, R"({"type": "EMA"})");
  two["hooks"].push_back({{"type", "SWA"}});
  EXPECT_THROW(engine::TestRun run(two), engine::Error);
}

}  // namespace
}  // namespace epochd::hooks
