// SPDX-License-Identifier: Apache-2.0
#include "hooks/gradient_clip.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/core/error.h"
#include "worker/engine/loop/gan_training_runner.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

using engine::Json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Gradients of all parameters after clipping, when each element was `scale`.
at::Tensor Clipped(GradientClip::Options options, double scale) {
  Json json = engine::DigitsExperiment(1);
  json["hooks"] = Json::array();
  engine::TestRun run(json);
  auto& runner =
      dynamic_cast<engine::TrainingRunner&>(run.trainer().training_runner());
  runner.on_post_backward.Bind([&](engine::RunnerContext& context) {
    for (const auto& each : context.optimizer->parameters()) {
      each.tensor.mutable_grad().fill_(scale);
    }
  });
  run.trainer().AddHook(std::make_shared<GradientClip>(options));
  at::Tensor gradients;
  runner.on_before_optimizer_step.Bind([&](engine::RunnerContext& context) {
    std::vector<at::Tensor> all;
    for (const auto& each : context.optimizer->parameters()) {
      all.push_back(each.tensor.grad().to(at::kDouble).flatten());
    }
    gradients = at::cat(all);
  });
  engine::Scores scores;
  run.trainer().on_epoch_finished.Bind(
      [&](engine::TrainerContext& context) { scores = context.scores; });
  run.trainer().Start();
  run.trainer().Run();
  const double* norm = engine::FindScore(scores, "train/grad_norm");
  EXPECT_NE(norm, nullptr);
  if (norm != nullptr) {
    // Before clipping; there are 1210 parameters.
    const double true_norm =
        std::isinf(options.norm_type)
            ? std::abs(scale)
            : std::pow(1210, 1 / options.norm_type) * std::abs(scale);
    EXPECT_NEAR(*norm, true_norm, 1e-4 * true_norm);
  }
  return gradients;
}

TEST(GradientClipTest, ScalesLargeGradientsToTheNorm) {
  EXPECT_NEAR(Clipped({.max_norm = 0.5}, 10).norm().item<double>(), 0.5, 1e-4);
  EXPECT_NEAR(
      Clipped({.max_norm = 0.5, .norm_type = 1}, 10).norm(1).item<double>(),
      0.5, 1e-4);
  EXPECT_NEAR(Clipped({.max_norm = 0.5, .norm_type = kInfinity}, 10)
                  .abs()
                  .max()
                  .item<double>(),
              0.5, 1e-4);
}

TEST(GradientClipTest, LeavesSmallGradientsAlone) {
  EXPECT_NEAR(Clipped({.max_norm = 0.5}, 0.001).norm().item<double>(),
              std::sqrt(1210) * 0.001, 1e-6);
}

TEST(GradientClipTest, LimitsElements) {
  EXPECT_NEAR(Clipped({.max_value = 0.25}, 10).max().item<double>(), .25, 1e-7);
  EXPECT_NEAR(Clipped({.max_value = 0.25}, -10).min().item<double>(), -.25,
              1e-7);
  EXPECT_NEAR(Clipped({.max_value = 0.25}, 0.125).max().item<double>(), .125,
              1e-7);
}

TEST(GradientClipTest, Case24AClippedInfinityStepsNowhere) {
  Json json = engine::DigitsExperiment(1);
  json["hooks"] = Json::array();
  engine::TestRun run(json);
  auto& runner =
      dynamic_cast<engine::TrainingRunner&>(run.trainer().training_runner());
  at::Tensor before, after;
  runner.on_post_backward.Bind([&](engine::RunnerContext& context) {
    if (context.batch != 2) return;
    context.optimizer->parameters()[0].tensor.mutable_grad().view({-1})[0] =
        kInfinity;
    before = run.Weights();
  });
  run.trainer().AddHook(
      std::make_shared<GradientClip>(GradientClip::Options{.max_norm = 1.0}));
  runner.on_post_step.Bind([&](engine::RunnerContext& context) {
    if (context.batch == 2) after = run.Weights();
  });
  run.trainer().Start();
  run.trainer().Run();
  EXPECT_TRUE(at::equal(before, after));
  EXPECT_TRUE(run.Weights().isfinite().all().item<bool>());
  EXPECT_EQ(run.trainer().position().step, 11);
  EXPECT_EQ(run.trainer().position().global_batch, 12);
}

TEST(GradientClipTest, ClipsEachEvaluationOfAStepOfLbfgs) {
  for (const char* limit : {"max_norm", "max_value"}) {
    Json json = engine::DigitsExperiment(1);
    json.erase("lr_scheduler");
    json["optimizer"] = {{"type", "LBFGS"}, {"lr", 0.01}, {"max_iter", 4}};
    json["trainer"]["limit_train_batches"] = 2;
    json["hooks"] = Json::array({{{"type", "GradientClip"}, {limit, 1e-3}}});
    engine::TestRun run(json);
    run.trainer().Start();
    run.trainer().Run();
    const auto optimizers = run.trainer().training_runner().Optimizers();
    double last = 0;
    for (const auto& [name, tensor] : optimizers[0].second->State()) {
      if (name != "prev_flat_grad") continue;
      const bool is_norm = std::string(limit) == "max_norm";
      last = (is_norm ? tensor.norm() : tensor.abs().max()).item<double>();
    }
    EXPECT_GT(last, 0) << limit;
    EXPECT_LT(last, 1.001e-3) << limit;
  }
}

TEST(GradientClipTest, ClipsTheSideOfAGanThatItIsToldTo) {
  for (const char* target : {"all", "D", "G"}) {
    Json json = engine::GanExperiment(1);
    json["hooks"] = Json::array(
        {{{"type", "GradientClip"}, {"max_norm", 1e-3}, {"target", target}}});
    engine::TestRun run(json);
    auto& runner = dynamic_cast<engine::GanTrainingRunner&>(
        run.trainer().training_runner());
    double d_norm = 0, g_norm = 0;
    bool tells_d = false;
    runner.on_before_d_step.Bind([&](engine::GanContext& context) {
      d_norm = context.discriminator_update->Norm().item<double>();
    });
    runner.on_before_g_step.Bind([&](engine::GanContext& context) {
      g_norm = context.generator_update->Norm().item<double>();
    });
    run.trainer().on_epoch_finished.Bind([&](engine::TrainerContext& context) {
      tells_d =
          engine::FindScore(context.scores, "train/grad_norm_d") != nullptr;
    });
    run.trainer().Start();
    run.trainer().Run();
    EXPECT_EQ(d_norm < 1.001e-3, std::string(target) != "G") << target;
    EXPECT_EQ(g_norm < 1.001e-3, std::string(target) != "D") << target;
    EXPECT_EQ(tells_d, std::string(target) != "G") << target;
  }
}

TEST(GradientClipTest, RefusesTwoLimitsAtOnce) {
  Json json = engine::DigitsExperiment(1);
  json["hooks"] = Json::array(
      {{{"type", "GradientClip"}, {"max_norm", 1}, {"max_value", 1}}});
  EXPECT_THROW(engine::TestRun run(json), engine::Error);
  json["hooks"] =
      Json::array({{{"type", "GradientClip"}, {"norm_type", "two"}}});
  EXPECT_THROW(engine::TestRun run(json), engine::Error);
}

}  // namespace
}  // namespace epochd::hooks
