// SPDX-License-Identifier: Apache-2.0
#include "hooks/gradient_clip.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/loop/training_runner.h"

namespace epochd::hooks {
namespace {

using engine::Json;

double NormAfterClipping(double max_norm, double scale) {
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
  run.trainer().AddHook(
      std::make_shared<GradientClip>(max_norm, GradientClip::Target::kAll));
  double norm = 0;
  runner.on_post_backward.Bind([&](engine::RunnerContext& context) {
    double square = 0;
    for (const auto& each : context.optimizer->parameters()) {
      square +=
          each.tensor.grad().to(at::kDouble).square().sum().item<double>();
    }
    norm = std::sqrt(square);
  });
  run.trainer().Start();
  run.trainer().Run();
  return norm;
}

TEST(GradientClipTest, ScalesLargeGradientsToTheNorm) {
  EXPECT_NEAR(NormAfterClipping(0.5, 10.0), 0.5, 1e-4);
}

TEST(GradientClipTest, LeavesSmallGradientsAlone) {
  // 1210 parameters of 0.001 have norm 0.0348.
  EXPECT_NEAR(NormAfterClipping(0.5, 0.001), std::sqrt(1210) * 0.001, 1e-6);
}

}  // namespace
}  // namespace epochd::hooks
