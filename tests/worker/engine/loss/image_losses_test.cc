// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/image_losses.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/loop/precision.h"

namespace epochd::engine {
namespace {

std::string MessageOf(const Loss& loss, const Batch& batch) {
  return ErrorOf([&] { loss.Compute(batch); });
}

Batch Images(at::IntArrayRef shape) {
  return {{"output", torch::rand(shape)}, {"target", torch::rand(shape)}};
}

TEST(SsimLossTest, RefusesImagesThatAreTooSmall) {
  EXPECT_EQ(MessageOf(SsimLoss({}), Images({2, 3, 10, 20})),
            "ssim: shape [2, 3, 10, 20]; images [B, C, H, W] of at least 11 x "
            "11 pixels are accepted (window 11)");
  SsimLoss::Options options;
  options.multi_scale = true;
  EXPECT_NE(MessageOf(SsimLoss(options), Images({2, 3, 175, 200}))
                .find("at least 176 x 176 pixels are accepted (window 11, 5 "
                      "scales)"),
            std::string::npos);
  EXPECT_NE(MessageOf(SsimLoss({}), Images({3, 20, 20})), "");
}

TEST(SsimLossTest, IsNothingForEqualImages) {
  at::Tensor image = torch::rand({1, 1, 44, 44}, torch::kDouble);
  const at::Tensor leaf = image.clone().requires_grad_();
  SsimLoss::Options options;
  options.multi_scale = true;
  options.ssim.betas = {0.5, 0.5};
  const at::Tensor loss =
      SsimLoss(options).Compute({{"output", leaf}, {"target", image}});
  EXPECT_NEAR(loss.item<double>(), 0, 1e-12);
  loss.backward();
  EXPECT_LT(leaf.grad().abs().max().item<double>(), 1e-12);
}

TEST(SsimLossTest, OppositeImagesHaveAFiniteGradient) {
  const at::Tensor image = torch::rand({1, 1, 22, 22}, torch::kDouble);
  const at::Tensor leaf = (1 - image).requires_grad_();
  SsimLoss::Options options;
  options.multi_scale = true;
  options.ssim.betas = {0.5, 0.5};
  const at::Tensor loss =
      SsimLoss(options).Compute({{"output", leaf}, {"target", image}});
  EXPECT_EQ(loss.item<double>(), 1);
  loss.backward();
  EXPECT_TRUE(leaf.grad().isfinite().all().item<bool>());
}

TEST(SsimLossTest, AutocastDoesNotReachItsSums) {
  torch::manual_seed(4);
  const at::Tensor image = torch::rand({1, 1, 16, 16});
  const Batch batch{{"output", image + 1e-3 * torch::rand({1, 1, 16, 16})},
                    {"target", image}};
  const double exact = SsimLoss({}).Compute(batch).item<double>();
  const AutocastGuard autocast(Precision::kBFloat16, at::kCPU);
  EXPECT_EQ(SsimLoss({}).Compute(batch).item<double>(), exact);
}

TEST(TotalVariationTest, OnePixelVariesNot) {
  for (const bool isotropic : {false, true}) {
    TotalVariationLoss::Options options;
    options.isotropic = isotropic;
    const at::Tensor pixel = torch::rand({2, 3, 1, 1}).requires_grad_();
    const at::Tensor loss =
        TotalVariationLoss(options).Compute({{"output", pixel}});
    EXPECT_EQ(loss.item<double>(), 0);
    loss.backward();
  }
  EXPECT_EQ(MessageOf(TotalVariationLoss({}), {{"output", torch::rand({4})}}),
            "total_variation: shape [4]; images [B, C, H, W] or signals "
            "[B, C, N] are accepted");
}

TEST(GradientLossTest, SobelIsForImages) {
  EXPECT_NE(MessageOf(GradientLoss({}), Images({2, 3, 8})).find("images"),
            std::string::npos);
  EXPECT_NE(MessageOf(GradientLoss({}), Images({2, 3, 1, 8})).find("2 x 2"),
            std::string::npos);
  GradientLoss::Options options;
  options.sobel = false;
  EXPECT_EQ(MessageOf(GradientLoss(options), Images({2, 3, 8})), "");
}

}  // namespace
}  // namespace epochd::engine
