// SPDX-License-Identifier: Apache-2.0
//
// What masks and weights mean to every loss that takes them; values of means
// are compared with Python's in tests/golden.
#include "worker/engine/loss/weighing.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/loss/binary.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/loss/image_losses.h"
#include "worker/engine/loss/pointwise.h"

namespace epochd::engine {
namespace {

struct Subject {
  const char* name;
  std::shared_ptr<Loss> loss;
};

template <class T>
std::shared_ptr<Loss> Masked(typename T::Options options = {}) {
  options.weighing = {.mask = "mask"};
  return std::make_shared<T>(options);
}

std::vector<Subject> ImageSubjects() {
  SsimLoss::Options ssim;
  ssim.ssim.window = 3;
  SsimLoss::Options multi = ssim;
  multi.multi_scale = true;
  multi.ssim.betas = {0.5, 0.5};
  SsimLoss::Options mixed = ssim;
  mixed.alpha = 0.5;
  GradientLoss::Options differences;
  differences.sobel = false;
  differences.magnitude = true;
  TotalVariationLoss::Options isotropic;
  isotropic.isotropic = true;
  return {{"mse", Masked<MseLoss>()},
          {"l1", Masked<L1Loss>()},
          {"charbonnier", Masked<CharbonnierLoss>()},
          {"huber", Masked<HuberLoss>()},
          {"smooth_l1", Masked<SmoothL1Loss>()},
          {"bce", Masked<BceLoss>()},
          {"bce_with_logits", Masked<BceWithLogitsLoss>()},
          {"focal", Masked<FocalLoss>()},
          {"asymmetric", Masked<AsymmetricLoss>()},
          {"ssim", Masked<SsimLoss>(ssim)},
          {"ms_ssim", Masked<SsimLoss>(multi)},
          {"l1_ssim", Masked<SsimLoss>(mixed)},
          {"total_variation", Masked<TotalVariationLoss>()},
          {"isotropic", Masked<TotalVariationLoss>(isotropic)},
          {"sobel", Masked<GradientLoss>()},
          {"differences", Masked<GradientLoss>(differences)}};
}

at::Tensor Gradient(const Loss& loss, const at::Tensor& output,
                    const at::Tensor& target, const at::Tensor& mask,
                    double* value) {
  const at::Tensor leaf = output.clone().requires_grad_();
  const at::Tensor result =
      loss.Compute({{"output", leaf}, {"target", target}, {"mask", mask}});
  *value = result.item<double>();
  result.backward();
  return leaf.grad();
}

TEST(WeighingTest, WhatDoesNotCountMayBeAnything) {
  torch::manual_seed(1);
  const at::Tensor output = torch::rand({2, 3, 9, 8}, torch::kDouble);
  const at::Tensor target = torch::rand({2, 3, 9, 8}, torch::kDouble);
  at::Tensor mask = torch::ones({2, 1, 9, 8}, torch::kBool);
  mask[1][0].slice(0, 6).fill_(false);
  mask[0][0][0][0] = false;
  const at::Tensor hole = mask.logical_not().expand(output.sizes());
  for (const auto& [name, loss] : ImageSubjects()) {
    SCOPED_TRACE(name);
    double value = 0;
    const at::Tensor gradient = Gradient(*loss, output, target, mask, &value);
    EXPECT_GT(value, 0);
    EXPECT_TRUE(gradient.isfinite().all().item<bool>());
    EXPECT_EQ(gradient.masked_select(hole).abs().max().item<double>(), 0);
    double odd_value = 0;
    const at::Tensor odd =
        Gradient(*loss, output.masked_fill(hole, NAN),
                 target.masked_fill(hole, HUGE_VAL), mask, &odd_value);
    EXPECT_EQ(odd_value, value);
    EXPECT_TRUE(torch::equal(odd, gradient));
  }
}

TEST(WeighingTest, NothingThatCountsIsNoLoss) {
  const at::Tensor output = torch::rand({2, 3, 9, 8}, torch::kDouble);
  const at::Tensor target = torch::rand({2, 3, 9, 8}, torch::kDouble);
  const at::Tensor mask = torch::zeros({2, 9, 8});
  for (const auto& [name, loss] : ImageSubjects()) {
    SCOPED_TRACE(name);
    double value = 1;
    const at::Tensor gradient = Gradient(*loss, output, target, mask, &value);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(gradient.abs().max().item<double>(), 0);
  }
}

TEST(WeighingTest, AMaskOfOnesChangesNothing) {
  torch::manual_seed(2);
  const at::Tensor output = torch::rand({2, 3, 9, 8}, torch::kDouble);
  const at::Tensor target = torch::rand({2, 3, 9, 8}, torch::kDouble);
  const Batch without{{"output", output}, {"target", target}};
  Batch with = without;
  with.Set("mask", torch::ones({2}));
  EXPECT_NEAR(Masked<MseLoss>()->Compute(with).item<double>(),
              MseLoss({}).Compute(without).item<double>(), 1e-15);
  EXPECT_NEAR(Masked<GradientLoss>()->Compute(with).item<double>(),
              GradientLoss({}).Compute(without).item<double>(), 1e-15);
}

TEST(WeighingTest, WhatCountsIsHowManyItemsThereAre) {
  Batch whole{{"output", torch::zeros({2, 3, 2})},
              {"target", torch::zeros({2, 3, 2})}};
  whole.Set("mask", torch::tensor({{{1.0f, 0.0f}}, {{1.0f, 0.5f}}}));
  EXPECT_EQ(Masked<MseLoss>()->NumItems(whole), 7.5);
  EXPECT_EQ(MseLoss({}).NumItems(whole), 2);
  MseLoss::Options sum;
  sum.reduction = Reduction::kSum;
  EXPECT_EQ(Masked<MseLoss>(sum)->NumItems(whole), 2);
}

TEST(WeighingTest, ClassesThatDoNotCountMayBeNoClasses) {
  const at::Tensor scores = torch::rand({3, 4, 2}, torch::kDouble);
  const at::Tensor classes =
      torch::tensor({{0, 1}, {2, 3}, {77, -5}}, torch::kLong);
  const at::Tensor first = torch::tensor({true, true, false});
  const Batch batch{{"output", scores}, {"target", classes}, {"mask", first}};
  const Batch part{{"output", scores.slice(0, 0, 2)},
                   {"target", classes.slice(0, 0, 2)}};
  EXPECT_NEAR(Masked<CrossEntropyLoss>()->Compute(batch).item<double>(),
              CrossEntropyLoss({}).Compute(part).item<double>(), 1e-15);
  EXPECT_NEAR(Masked<ClassFocalLoss>()->Compute(batch).item<double>(),
              ClassFocalLoss({}).Compute(part).item<double>(), 1e-15);
}

TEST(WeighingTest, Case191AllLabelsIgnoredIsNoLoss) {
  const at::Tensor classes = torch::full({3}, -100, torch::kLong);
  CrossEntropyLoss::Options weighed;
  weighed.class_weights = {1.0, 2.0, 3.0};
  CrossEntropyLoss::Options smooth;
  smooth.label_smoothing = 0.1;
  const std::vector<std::shared_ptr<Loss>> losses = {
      std::make_shared<CrossEntropyLoss>(CrossEntropyLoss::Options()),
      std::make_shared<CrossEntropyLoss>(weighed),
      std::make_shared<CrossEntropyLoss>(smooth),
      std::make_shared<ClassFocalLoss>(ClassFocalLoss::Options()),
      Masked<CrossEntropyLoss>(weighed)};
  for (const auto& loss : losses) {
    const at::Tensor scores = torch::rand({3, 3}).requires_grad_();
    const at::Tensor value = loss->Compute(
        {{"output", scores}, {"target", classes}, {"mask", torch::ones({3})}});
    EXPECT_EQ(value.item<double>(), 0);
    value.backward();
    EXPECT_EQ(scores.grad().abs().max().item<double>(), 0);
  }
}

TEST(WeighingTest, FieldsFitWithOnesBySampleOrWithoutChannels) {
  const auto fits = [](at::IntArrayRef sizes, at::IntArrayRef shape) {
    return WeightsOf({{"mask", torch::ones(sizes)}}, {.mask = "mask"}, shape,
                     torch::kFloat)
        .sizes()
        .vec();
  };
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(fits({2, 3, 5, 4}, {2, 3, 5, 4}), (Sizes{2, 3, 5, 4}));
  EXPECT_EQ(fits({2, 1, 5, 1}, {2, 3, 5, 4}), (Sizes{2, 1, 5, 1}));
  EXPECT_EQ(fits({2}, {2, 3, 5, 4}), (Sizes{2, 1, 1, 1}));
  EXPECT_EQ(fits({2, 3}, {2, 3, 5, 4}), (Sizes{2, 3, 1, 1}));
  EXPECT_EQ(fits({2, 5, 4}, {2, 3, 5, 4}), (Sizes{2, 1, 5, 4}));
  EXPECT_EQ(fits({2, 5}, {2, 3, 5}), (Sizes{2, 1, 5}));
  EXPECT_EQ(fits({2}, {2, 2}), (Sizes{2, 1}));
  // Of what has no channels.
  EXPECT_EQ(fits({2, 1}, {2}), (Sizes{2}));
  EXPECT_EQ(fits({2, 1, 5, 4}, {2, 5, 4}), (Sizes{2, 5, 4}));
}

TEST(WeighingTest, AMaskCountsForLargerElementsByAWholeFactor) {
  const auto fitted = [](const at::Tensor& mask, at::IntArrayRef shape) {
    return WeightsOf({{"mask", mask}}, {.mask = "mask"}, shape, torch::kFloat);
  };
  const at::Tensor mask = torch::tensor({{{{1.f, 0.f, 1.f}, {0.f, 0.f, 1.f}}}});
  const at::Tensor twice = torch::tensor({{1.f, 1.f, 0.f, 0.f, 1.f, 1.f},
                                          {1.f, 1.f, 0.f, 0.f, 1.f, 1.f},
                                          {0.f, 0.f, 0.f, 0.f, 1.f, 1.f},
                                          {0.f, 0.f, 0.f, 0.f, 1.f, 1.f}});
  EXPECT_TRUE(torch::equal(fitted(mask, {1, 3, 4, 6})[0][0], twice));
  EXPECT_TRUE(torch::equal(fitted(mask, {1, 4, 6})[0], twice));
  EXPECT_TRUE(
      torch::equal(fitted(torch::tensor({{{1.f, 0.f}}}), {1, 2, 6})[0][0],
                   torch::tensor({1.f, 1.f, 1.f, 0.f, 0.f, 0.f})));
  // Padding has no part in a loss of a larger target.
  at::Tensor output = torch::zeros({1, 2, 4, 6});
  output.masked_fill_(twice.eq(0), NAN);
  EXPECT_EQ(Masked<L1Loss>()
                ->Compute({{"output", output},
                           {"target", torch::ones({1, 2, 4, 6})},
                           {"mask", mask}})
                .item<double>(),
            1);
  EXPECT_NE(ErrorOf([&] { fitted(mask, {1, 3, 4, 9}); }), "");
  EXPECT_NE(ErrorOf([&] { fitted(mask, {1, 3, 5, 7}); }), "");
}

TEST(WeighingTest, RefusesWhatFitsInNoOrTwoWays) {
  const auto message = [](at::IntArrayRef sizes, at::IntArrayRef shape) {
    return ErrorOf([&] {
      WeightsOf({{"m", torch::ones(sizes)}}, {.sample_weight = "m"}, shape,
                torch::kFloat);
    });
  };
  EXPECT_EQ(message({3}, {2, 3}),
            "batch field \"m\": shape [3] does not go with elements of shape "
            "[2, 3]; the same shape, with 1 for sizes that it is stretched "
            "over, is accepted");
  EXPECT_NE(message({2, 3, 1}, {2, 3}), "");
  EXPECT_NE(message({}, {2}), "");
  EXPECT_NE(message({2, 4}, {2, 4, 4}).find("goes in two ways with"),
            std::string::npos);
  EXPECT_NE(ErrorOf([] {
              WeightsOf({}, {.mask = "mask"}, {2}, torch::kFloat);
            }).find("\"mask\""),
            std::string::npos);
}

TEST(BinaryLossesTest, RefuseNumbersOfOtherClasses) {
  BceWithLogitsLoss::Options options;
  options.pos_weight = {1.0, 2.0};
  const Batch batch{{"output", torch::zeros({2, 5})},
                    {"target", torch::zeros({2, 5})}};
  EXPECT_EQ(ErrorOf([&] { BceWithLogitsLoss(options).Compute(batch); }),
            "pos_weight: 2 numbers for 5 classes (the second dimension); one, "
            "or one for each, is accepted");
}

TEST(BinaryLossesTest, ClassesAreTheSecondDimension) {
  const at::Tensor target = torch::rand({2, 3, 4}).ge(0.5).to(torch::kFloat);
  const Batch batch{{"output", torch::rand({2, 3, 4})}, {"target", target}};
  const Batch parts[] = {{{"output", batch.At("output").select(1, 0)},
                          {"target", target.select(1, 0)}},
                         {{"output", batch.At("output").select(1, 1)},
                          {"target", target.select(1, 1)}},
                         {{"output", batch.At("output").select(1, 2)},
                          {"target", target.select(1, 2)}}};
  const auto expect = [&](auto options, auto fill, auto make) {
    double expected = 0;
    for (int i = 0; i < 3; ++i) {
      auto one = options;
      fill(one, {i + 1.0});
      expected += make(one)->Compute(parts[i]).template item<double>() / 3;
    }
    fill(options, {1.0, 2.0, 3.0});
    EXPECT_NEAR(make(options)->Compute(batch).template item<double>(), expected,
                1e-6);
  };
  const auto weights = [](auto& options, std::vector<double> values) {
    options.class_weights = std::move(values);
  };
  const auto positives = [](auto& options, std::vector<double> values) {
    options.pos_weight = std::move(values);
  };
  const auto logits = [](const auto& options) {
    return std::make_shared<BceWithLogitsLoss>(options);
  };
  const auto shares = [](const auto& options) {
    return std::make_shared<BceLoss>(options);
  };
  expect(BceWithLogitsLoss::Options(), weights, logits);
  expect(BceWithLogitsLoss::Options(), positives, logits);
  expect(BceLoss::Options(), weights, shares);
  expect(BceLoss::Options(), positives, shares);
  expect(FocalLoss::Options(), weights, [](const auto& options) {
    return std::make_shared<FocalLoss>(options);
  });
}

TEST(BinaryLossesTest, StayFiniteForCertainLogits) {
  const at::Tensor target = torch::tensor({0.0f, 1.0f, 0.0f, 1.0f});
  FocalLoss::Options root;
  root.gamma = 0.5;
  AsymmetricLoss::Options roots;
  roots.gamma_neg = roots.gamma_pos = 0.5;
  const std::vector<std::shared_ptr<Loss>> losses = {
      std::make_shared<BceWithLogitsLoss>(BceWithLogitsLoss::Options()),
      std::make_shared<FocalLoss>(FocalLoss::Options()),
      std::make_shared<FocalLoss>(root),
      std::make_shared<AsymmetricLoss>(AsymmetricLoss::Options()),
      std::make_shared<AsymmetricLoss>(roots)};
  for (const auto& loss : losses) {
    const at::Tensor logits =
        torch::tensor({-200.0f, 200.0f, 200.0f, -200.0f}).requires_grad_();
    const at::Tensor value =
        loss->Compute({{"output", logits}, {"target", target}});
    EXPECT_TRUE(value.isfinite().item<bool>());
    value.backward();
    EXPECT_TRUE(logits.grad().isfinite().all().item<bool>());
  }
}

}  // namespace
}  // namespace epochd::engine
