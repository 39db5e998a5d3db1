// SPDX-License-Identifier: Apache-2.0
// Values are compared with Python's in tests/golden; here is what is ours.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <vector>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/loss/binary.h"
#include "worker/engine/loss/builtin.h"
#include "worker/engine/loss/cross_entropy.h"
#include "worker/engine/loss/pointwise.h"
#include "worker/engine/loss/ragan.h"

namespace epochd::engine {
namespace {

std::string MessageOf(const Loss& loss, const Batch& batch) {
  return ErrorOf([&] { loss.Compute(batch); });
}

TEST(LossTest, Case190NeverBroadcastsPredictionAgainstTarget) {
  const at::Tensor values = torch::tensor({1.0f, 2.0f, 3.0f, 4.0f});
  const at::Tensor column = values.unsqueeze(1);
  // Broadcast to [4, 4] it would be 2.5.
  for (const Batch& batch :
       {Batch{{"output", column}, {"target", values}},
        Batch{{"output", values}, {"target", column}},
        Batch{{"output", column}, {"target", values.to(torch::kLong)}}}) {
    EXPECT_EQ(MseLoss({}).Compute(batch).item<float>(), 0);
  }
  const Batch fewer{{"output", torch::zeros({4, 1})},
                    {"target", torch::zeros({3})}};
  EXPECT_EQ(MessageOf(MseLoss({}), fewer),
            "batch field \"target\": shape [3] does not go with shape [4, 1] "
            "of \"output\"; both must have the same shape");
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{4, 2}, {1, 4}, {4, 1, 1}}) {
    const Batch other{{"output", torch::zeros(sizes)},
                      {"target", torch::zeros({4})}};
    EXPECT_NE(MessageOf(L1Loss({}), other), "") << sizes.size();
    EXPECT_NE(MessageOf(BceWithLogitsLoss({}), other), "") << sizes.size();
  }
}

TEST(LossTest, OneLogitGoesWithClassesThatLackItsDimension) {
  const at::Tensor logits = torch::tensor({{2.0f}, {-1.0f}, {0.5f}});
  const at::Tensor truth = torch::tensor({1, 0, 0});
  const float expected =
      BceWithLogitsLoss({})
          .Compute({{"output", logits},
                    {"target", truth.to(torch::kFloat).unsqueeze(1)}})
          .item<float>();
  EXPECT_EQ(BceWithLogitsLoss({})
                .Compute({{"output", logits}, {"target", truth}})
                .item<float>(),
            expected);
  // Of images, and with masks and weights of either shape.
  const at::Tensor output = torch::rand({2, 1, 3, 5});
  const at::Tensor target = torch::rand({2, 3, 5}).ge(0.5);
  const at::Tensor mask = torch::rand({2, 3, 5}).ge(0.5);
  const float masked = torch::binary_cross_entropy_with_logits(
                           output.squeeze(1), target.to(torch::kFloat), {}, {},
                           at::Reduction::None)
                           .index({mask})
                           .mean()
                           .item<float>();
  BceWithLogitsLoss::Options options;
  options.weighing.mask = "mask";
  for (const at::Tensor& given : {output, output.squeeze(1)}) {
    for (const at::Tensor& own : {mask, mask.unsqueeze(1)}) {
      const Batch batch{{"output", given}, {"target", target}, {"mask", own}};
      const BceWithLogitsLoss loss(options);
      EXPECT_FLOAT_EQ(loss.Compute(batch).item<float>(), masked);
      EXPECT_EQ(loss.NumItems(batch), mask.sum().item<double>());
    }
  }
}

// What pads labels, or a class number, is no share of yes and no.
TEST(LossTest, LabelsThatAreNoSharesAreRefusedWhereTheyCount) {
  const at::Tensor output = torch::full({2, 2}, 0.5);
  const at::Tensor mask = torch::tensor({{1, 1}, {1, 0}});
  const auto check = [&](const auto& make) {
    for (const double odd : {-100.0, 2.0, 1.001}) {
      Batch batch{{"output", output},
                  {"target", torch::tensor({{0.0, 1.0}, {0.5, odd}})},
                  {"mask", mask}};
      EXPECT_NE(MessageOf(make(""), batch)
                    .find("batch field \"target\": numbers from "),
                std::string::npos)
          << odd;
      EXPECT_EQ(MessageOf(make("mask"), batch), "") << odd;
    }
  };
  const auto with = [](auto options, const std::string& field) {
    options.weighing.mask = field;
    return options;
  };
  check([&](const char* field) {
    return BceWithLogitsLoss(with(BceWithLogitsLoss::Options(), field));
  });
  check([&](const char* field) {
    return BceLoss(with(BceLoss::Options(), field));
  });
  check([&](const char* field) {
    return FocalLoss(with(FocalLoss::Options(), field));
  });
  check([&](const char* field) {
    return AsymmetricLoss(with(AsymmetricLoss::Options(), field));
  });
}

TEST(LossTest, CountsTheItemsThatItsMeanIsOver) {
  const Batch batch{{"output", torch::zeros({4, 3})},
                    {"target", torch::tensor({0, 2, -100, 2}, at::kLong)}};
  EXPECT_EQ(CrossEntropyLoss(CrossEntropyLoss::Options()).NumItems(batch), 3);
  CrossEntropyLoss::Options weighted;
  weighted.class_weights = {1, 10, 0.25};
  EXPECT_EQ(CrossEntropyLoss(weighted).NumItems(batch), 1.5);
  const Batch tokens{{"output", torch::zeros({2, 3, 5})},
                     {"target", torch::zeros({2, 5}, at::kLong)}};
  EXPECT_EQ(CrossEntropyLoss(CrossEntropyLoss::Options()).NumItems(tokens), 10);
  const Batch shares{{"output", torch::zeros({2, 3, 5})},
                     {"target", torch::zeros({2, 3, 5})}};
  EXPECT_EQ(CrossEntropyLoss(CrossEntropyLoss::Options()).NumItems(shares), 10);
  EXPECT_EQ(MseLoss(MseLoss::Options()).NumItems(batch), 4);
}

TEST(LossTest, ReadsTheFieldsItIsTold) {
  MseLoss::Options options;
  options.fields = {.output = "fake", .target = "hr"};
  const MseLoss loss(options);
  const Batch batch{{"fake", torch::ones({2, 3})},
                    {"hr", torch::zeros({2, 3})}};
  EXPECT_EQ(loss.Compute(batch).item<float>(), 1.0f);
  EXPECT_NE(MessageOf(MseLoss({}), batch).find("\"output\""),
            std::string::npos);
}

TEST(LossTest, SumsHalfPrecisionInFloat) {
  // 300^2 is beyond half precision's greatest number.
  const Batch batch{{"output", torch::full({4}, 300.0, torch::kHalf)},
                    {"target", torch::zeros({4}, torch::kHalf)}};
  const at::Tensor loss = MseLoss({}).Compute(batch);
  EXPECT_EQ(loss.scalar_type(), torch::kFloat);
  EXPECT_EQ(loss.item<float>(), 90000.0f);
}

TEST(CrossEntropyTest, TakesClassesOfAnyIntegerType) {
  const at::Tensor scores = torch::tensor({{2.0f, 0.0f}, {0.0f, 2.0f}});
  const float expected =
      CrossEntropyLoss({})
          .Compute({{"output", scores}, {"target", torch::tensor({0, 1})}})
          .item<float>();
  EXPECT_NEAR(expected, std::log(1 + std::exp(-2.0)), 1e-6);
  for (const auto type : {torch::kUInt8, torch::kInt}) {
    const Batch batch{{"output", scores},
                      {"target", torch::tensor({0, 1}).to(type)}};
    EXPECT_EQ(CrossEntropyLoss({}).Compute(batch).item<float>(), expected);
  }
}

TEST(CrossEntropyTest, NamesBothFieldsWhenShapesDoNotGoTogether) {
  const CrossEntropyLoss loss({});
  for (const at::Tensor& target :
       {torch::zeros({3}, torch::kLong), torch::zeros({2, 1}, torch::kLong),
        torch::zeros({2}), torch::zeros({}, torch::kLong)}) {
    const std::string message =
        MessageOf(loss, {{"output", torch::zeros({2, 5})}, {"target", target}});
    EXPECT_NE(message.find("\"target\""), std::string::npos) << message;
    EXPECT_NE(message.find("\"output\""), std::string::npos) << message;
  }
}

// Its loss would be 0 whatever the target is.
TEST(CrossEntropyTest, RefusesTheScoresOfOneClass) {
  for (const at::Tensor& target :
       {torch::tensor({{0.5f}, {-3.0f}}), torch::zeros({2}, torch::kLong)}) {
    EXPECT_EQ(BadSpecOf([&] {
                CrossEntropyLoss({}).Compute(
                    {{"output", torch::zeros({2, 1})}, {"target", target}});
              }),
              "cross_entropy: field \"output\" has the scores of one class "
              "alone, so that the loss is always 0; 2 classes or more are "
              "accepted (one score for yes or no: BCEWithLogits)");
  }
}

TEST(CrossEntropyTest, RefusesFloatsThatAreNoProbabilities) {
  for (const float odd : {-3.0f, 1.5f}) {
    EXPECT_EQ(BadSpecOf([&] {
                CrossEntropyLoss({}).Compute(
                    {{"output", torch::zeros({1, 2})},
                     {"target", torch::tensor({{odd, 0.5f}})}});
              }),
              "cross_entropy: field \"target\" holds floating numbers outside "
              "[0, 1]; integer classes [B, ...], or probabilities of classes "
              "[B, C, ...], are accepted");
  }
  CrossEntropyLoss({}).Compute({{"output", torch::zeros({1, 2})},
                                {"target", torch::tensor({{1.0f, 0.0f}})}});
}

TEST(CrossEntropyTest, RefusesClassWeightsForOtherClasses) {
  CrossEntropyLoss::Options options;
  options.class_weights = {1.0, 2.0};
  const std::string message = MessageOf(
      CrossEntropyLoss(options), {{"output", torch::zeros({2, 5})},
                                  {"target", torch::zeros({2}, torch::kLong)}});
  EXPECT_NE(message.find("class_weights: 2 weights for 5 classes"),
            std::string::npos)
      << message;
}

TEST(RaGanTest, RefusesAnotherNumberOfFakesThanReals) {
  const std::string message = MessageOf(
      RaGanDiscriminatorLoss({}),
      {{"score_real", torch::zeros({4})}, {"score_fake", torch::zeros({3})}});
  EXPECT_NE(message.find("\"score_fake\""), std::string::npos) << message;
}

TEST(RaGanTest, StaysFiniteForCertainScores) {
  const at::Tensor real = torch::full({4}, -500.0).requires_grad_();
  const at::Tensor fake = torch::full({4}, 500.0).requires_grad_();
  const at::Tensor loss = RaGanDiscriminatorLoss({}).Compute(
      {{"score_real", real}, {"score_fake", fake}});
  EXPECT_EQ(loss.item<float>(), 1000.0f);
  loss.backward();
  EXPECT_TRUE(real.grad().isfinite().all().item<bool>());
}

TEST(BuiltinLossesTest, TorchsNamesAreAliases) {
  catalogue::Catalogue catalogue;
  for (const Entry<Loss>& entry : BuiltinLosses()) {
    EXPECT_NE(entry.make, nullptr);
    catalogue.components.push_back(entry.component);
  }
  for (const char* name :
       {"CrossEntropyLoss", "MSELoss", "L1Loss", "BCEWithLogitsLoss",
        "torch.nn.MSELoss", "srforge.loss.adversarial.RaGANGeneratorLoss",
        "RaGANDiscriminatorLoss", "FocalLoss", "AsymmetricLoss",
        "WeightedBCELoss", "MaskedBCEWithLogitsLoss",
        "srforge.metrics.image.SSIM", "Charbonnier", "GANGeneratorLoss"}) {
    EXPECT_NE(catalogue.Find("loss", name), nullptr) << name;
  }
}

}  // namespace
}  // namespace epochd::engine
