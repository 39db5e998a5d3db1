// SPDX-License-Identifier: Apache-2.0
//
// What changes a criterion's sum in training: flooding, losses by epoch,
// balancers.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "worker/engine/core/error.h"
#include "worker/engine/loop/criterion.h"
#include "worker/engine/loss/balancer.h"
#include "worker/engine/loss/flooding.h"
#include "worker/engine/loss/loss_schedule.h"
#include "worker/engine/loss/pointwise.h"
#include "worker/engine/loss/ragan.h"

namespace epochd::engine {
namespace {

// torch_ecg's: unchanged gradient above, exactly reversed below.
TEST(FloodingTest, TurnsTheGradientRoundBelowTheLevel) {
  for (const double value : {0.5, 0.1}) {
    const at::Tensor x =
        torch::full({}, value, torch::kDouble).requires_grad_();
    const at::Tensor flooded = Flood(x * 3, 0.9);
    flooded.backward();
    EXPECT_DOUBLE_EQ(flooded.item<double>(), std::abs(3 * value - 0.9) + 0.9);
    EXPECT_EQ(x.grad().item<double>(), value == 0.5 ? 3.0 : -3.0);
  }
  const at::Tensor loss = torch::ones({});
  EXPECT_TRUE(Flood(loss, 0.0).is_same(loss));
}

std::shared_ptr<Loss> Mse(const std::string& name, double weight = 1.0) {
  MseLoss::Options options;
  options.name = name;
  auto loss = std::make_shared<MseLoss>(options);
  loss->set_weight(weight);
  return loss;
}

Batch Distance(double value) {
  return {{"output", torch::full({4}, value)}, {"target", torch::zeros({4})}};
}

std::vector<std::string> Names(const NamedLosses& parts) {
  std::vector<std::string> names;
  for (const auto& [name, value] : parts) names.push_back(name);
  return names;
}

TEST(LossScheduleTest, SwitchesAtItsEpochs) {
  const auto schedule = std::make_shared<LossSchedule>(
      "switch",
      std::map<int64_t, LossSchedule::Losses>{
          {0, {Mse("first")}}, {2, {Mse("second", 2.0), Mse("third", 0.5)}}});
  Criterion criterion({schedule, Mse("always")});
  const Batch batch = Distance(1.0);
  for (const int64_t epoch : {0, 1, 2, 7, 1}) {
    NamedLosses parts;
    criterion.SetEpoch(epoch);
    const double loss = criterion.Compute(batch, &parts).item<double>();
    if (epoch < 2) {
      EXPECT_EQ(loss, 2.0);
      EXPECT_EQ(Names(parts), (std::vector<std::string>{"first", "always"}));
    } else {
      EXPECT_EQ(loss, 3.5);
      EXPECT_EQ(Names(parts),
                (std::vector<std::string>{"second", "third", "always"}));
    }
  }
  schedule->SetEpoch(2);
  EXPECT_EQ(schedule->Compute(batch).item<double>(), 2.5);
}

TEST(LossScheduleTest, NeedsALossForTheFirstEpoch) {
  EXPECT_THROW(LossSchedule("x", {{1, {Mse("a")}}}), Error);
  EXPECT_THROW(LossSchedule("x", {}), Error);
}

// The inner one would never be told the epoch.
TEST(LossScheduleTest, RefusesOneWithinAnother) {
  const auto inner = std::make_shared<LossSchedule>(
      "inner", std::map<int64_t, LossSchedule::Losses>{{0, {Mse("a")}}});
  EXPECT_THROW(LossSchedule("x", {{0, {Mse("b")}}, {2, {inner}}}), Error);
}

// Two losses of one weight w: (w - 0)^2 and (10 w - 0)^2, so that gradients
// at w = 1 are 2 and 200, and squared Jacobians 1 and 100.
struct Pair {
  at::Tensor w = torch::ones({1}).requires_grad_();
  std::vector<std::shared_ptr<Loss>> losses;

  Pair() {
    for (const char* name : {"small", "great"}) {
      MseLoss::Options options;
      options.name = name;
      options.fields = {.output = name, .target = "target"};
      losses.push_back(std::make_shared<MseLoss>(options));
    }
  }
  Batch Forward() const {
    return {{"small", w.expand({3})},
            {"great", 10 * w.expand({3})},
            {"target", torch::zeros({3})}};
  }
};

TEST(LossBalancerTest, GradientNormsMakeGradientsEquallyLong) {
  const Pair pair;
  Criterion criterion(pair.losses);
  const auto balancer =
      std::make_shared<GradientNormBalancer>(LossBalancer::Options{
          .every = 2, .momentum = 0.5, .initial_weights = {{"great", 3.0}}});
  criterion.SetBalancer(balancer);
  balancer->Bind({pair.w}, nullptr);

  NamedLosses parts;
  // Not yet: the first update is after `every` steps.
  EXPECT_FLOAT_EQ(criterion.ComputeAt(1, pair.Forward(), &parts).item<float>(),
                  1.0f + 3.0f * 100.0f);
  EXPECT_EQ(Names(parts),
            (std::vector<std::string>{"small", "great", "weight/small",
                                      "weight/great"}));
  EXPECT_EQ(parts[3].second.item<double>(), 3.0);

  const at::Tensor total = criterion.ComputeAt(2, pair.Forward(), nullptr);
  const double mean = (2.0 + 200.0) / 2;
  const double small = 0.5 * 1.0 + 0.5 * mean / (2.0 + 1e-5 * mean);
  const double great = 0.5 * 3.0 + 0.5 * mean / (200.0 + 1e-5 * mean);
  EXPECT_NEAR(balancer->WeightOf("small"), small, 1e-6 * small);
  EXPECT_NEAR(balancer->WeightOf("great"), great, 1e-6 * great);
  EXPECT_NEAR(total.item<double>(), small + great * 100, 1e-3);
  // Measuring leaves no gradient behind, and the graph is still there.
  EXPECT_FALSE(pair.w.grad().defined());
  total.backward();
  EXPECT_NEAR(pair.w.grad().item<double>(), 2 * small + 200 * great, 1e-3);
  // Not in between.
  criterion.ComputeAt(3, pair.Forward(), nullptr);
  EXPECT_NEAR(balancer->WeightOf("small"), small, 1e-6 * small);
}

// With accumulated batches the first of a step decides.
TEST(LossBalancerTest, UpdatesOnceAStep) {
  const Pair pair;
  Criterion criterion(pair.losses);
  const auto balancer = std::make_shared<GradientNormBalancer>(
      LossBalancer::Options{.every = 1, .start = 0});
  criterion.SetBalancer(balancer);
  balancer->Bind({pair.w}, nullptr);
  criterion.ComputeAt(0, pair.Forward(), nullptr);
  const double once = balancer->WeightOf("small");
  EXPECT_NE(once, 1.0);
  criterion.ComputeAt(0, pair.Forward(), nullptr, /*begins_step=*/false);
  EXPECT_EQ(balancer->WeightOf("small"), once);
  criterion.ComputeAt(1, pair.Forward(), nullptr);
  EXPECT_NE(balancer->WeightOf("small"), once);
}

TEST(LossBalancerTest, KernelTracesAreMeansOverSamples) {
  const Pair pair;
  Criterion criterion(pair.losses);
  const auto balancer = std::make_shared<NtkBalancer>(
      LossBalancer::Options{
          .every = 1, .start = 0, .momentum = 0.9, .eps = 1e-10},
      /*num_samples=*/2);
  criterion.SetBalancer(balancer);
  balancer->Bind({pair.w}, nullptr);
  criterion.ComputeAt(0, pair.Forward(), nullptr);
  EXPECT_NEAR(balancer->WeightOf("small"), 0.9 + 0.1 * 50.5 / 1, 1e-6);
  EXPECT_NEAR(balancer->WeightOf("great"), 0.9 + 0.1 * 50.5 / 100, 1e-6);
}

TEST(LossBalancerTest, ALossWithoutGradientKeepsItsWeight) {
  const Pair pair;
  Batch batch = pair.Forward();
  batch.Set("small", torch::ones({3}));
  Criterion criterion(pair.losses);
  const auto ntk = std::make_shared<NtkBalancer>(
      LossBalancer::Options{.every = 1, .start = 0, .eps = 1e-10}, 8);
  criterion.SetBalancer(ntk);
  ntk->Bind({pair.w}, nullptr);
  criterion.ComputeAt(0, batch, nullptr);
  EXPECT_EQ(ntk->WeightOf("small"), 1.0);
  EXPECT_NEAR(ntk->WeightOf("great"), 0.9 + 0.1 * 0.5, 1e-6);

  // All zero: all stay.
  batch.Set("great", torch::ones({3}));
  const auto norm = std::make_shared<GradientNormBalancer>(
      LossBalancer::Options{.every = 1, .start = 0});
  criterion.SetBalancer(norm);
  norm->Bind({pair.w}, nullptr);
  criterion.ComputeAt(0, batch, nullptr);
  EXPECT_EQ(norm->WeightOf("great"), 1.0);
}

TEST(LossBalancerTest, StaticWeightsAreBesideTheLossesOwn) {
  Criterion criterion({Mse("a", 2.0), Mse("b")});
  criterion.SetBalancer(std::make_shared<StaticBalancer>(
      std::map<std::string, double>{{"a", 3.0}}));
  EXPECT_EQ(criterion.ComputeAt(5, Distance(1.0), nullptr).item<double>(), 7.0);
}

TEST(LossBalancerTest, StateGoesRound) {
  const Pair pair;
  Criterion criterion(pair.losses);
  const LossBalancer::Options options{.every = 1, .start = 0};
  const auto balancer = std::make_shared<GradientNormBalancer>(options);
  criterion.SetBalancer(balancer);
  balancer->Bind({pair.w}, nullptr);
  criterion.ComputeAt(0, pair.Forward(), nullptr);
  GradientNormBalancer other(options);
  other.LoadState(nlohmann::ordered_json::parse(balancer->State().dump()));
  EXPECT_EQ(other.WeightOf("small"), balancer->WeightOf("small"));
  EXPECT_EQ(other.WeightOf("great"), balancer->WeightOf("great"));
}

TEST(LossBalancerTest, KernelsNeedDifferences) {
  Criterion criterion(
      {std::make_shared<RaGanGeneratorLoss>(RaGanGeneratorLoss::Options{})});
  const auto balancer = std::make_shared<NtkBalancer>(
      LossBalancer::Options{.every = 1, .start = 0}, 1);
  criterion.SetBalancer(balancer);
  const Batch batch{{"score_real", torch::ones({2})},
                    {"score_fake", torch::ones({2})}};
  try {
    criterion.ComputeAt(0, batch, nullptr);
    ADD_FAILURE() << "was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("MSE, L1 and residuals"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace epochd::engine
