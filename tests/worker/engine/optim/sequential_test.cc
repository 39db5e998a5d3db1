// SPDX-License-Identifier: Apache-2.0
// Whole runs are in tests/worker/engine/loop/pinn_run_test.cc.
#include "worker/engine/optim/sequential.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "tests/worker/engine/error_of.h"
#include "tests/worker/engine/optim/valley.h"
#include "worker/engine/core/error.h"
#include "worker/engine/optim/adam.h"
#include "worker/engine/optim/lbfgs.h"
#include "worker/engine/optim/sgd.h"

namespace epochd::engine {
namespace {

// Calls the closure as a loop does: only where the optimizer needs it.
void StepInValley(const ValleyPoint& point, Optimizer& optimizer) {
  const Optimizer::Closure evaluate = Valley(point, optimizer);
  if (optimizer.needs_closure()) {
    optimizer.Step(evaluate);
  } else {
    evaluate();
    optimizer.Step();
  }
}

std::unique_ptr<SequentialOptimizer> AdamThenLbfgs(const ValleyPoint& point,
                                                   int64_t milestone) {
  return std::make_unique<SequentialOptimizer>(
      std::vector<std::shared_ptr<Optimizer>>{
          std::make_shared<Adam>(point, Adam::Options{.lr = 0.1}),
          std::make_shared<Lbfgs>(
              point, Lbfgs::Options{.max_iter = 3, .strong_wolfe = true})},
      std::vector<int64_t>{milestone});
}

bool AreSamePoint(const ValleyPoint& one, const ValleyPoint& other) {
  return torch::equal(one[0].tensor, other[0].tensor) &&
         torch::equal(one[1].tensor, other[1].tensor);
}

TEST(SequentialOptimizerTest, IsEachOfThemInItsTurn) {
  const ValleyPoint point = StartPoint();
  const auto optimizer = AdamThenLbfgs(point, 5);
  const ValleyPoint other = StartPoint();
  Adam adam(other, Adam::Options{.lr = 0.1});
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(optimizer->needs_closure());
    EXPECT_EQ(optimizer->lr(), 0.1);
    StepInValley(point, *optimizer);
    StepInValley(other, adam);
  }
  EXPECT_TRUE(AreSamePoint(point, other));
  Lbfgs lbfgs(other, Lbfgs::Options{.max_iter = 3, .strong_wolfe = true});
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(optimizer->needs_closure());
    EXPECT_EQ(optimizer->lr(), 1.0);
    StepInValley(point, *optimizer);
    StepInValley(other, lbfgs);
  }
  EXPECT_TRUE(AreSamePoint(point, other));
  EXPECT_EQ(optimizer->num_steps(), 17);
}

TEST(SequentialOptimizerTest, GoesOnFromAStateOnBothSidesOfTheChange) {
  for (int saved_after = 0; saved_after <= 6; ++saved_after) {
    const ValleyPoint point = StartPoint();
    const auto whole = AdamThenLbfgs(point, 3);
    for (int i = 0; i < saved_after; ++i) {
      StepInValley(point, *whole);
      // As a schedule would.
      if (i < 3) whole->set_lr(whole->lr() * 0.5);
    }
    std::vector<NamedTensor> state;
    for (const auto& [name, tensor] : whole->State()) {
      state.push_back({name, tensor.detach().clone()});
    }
    const nlohmann::ordered_json settings = whole->Settings();
    const ValleyPoint copy = ValleyCopyOf(point);
    const auto second = AdamThenLbfgs(copy, 3);
    EXPECT_EQ(RestoreOptimizer(*second, settings, state), "");
    EXPECT_EQ(second->num_steps(), saved_after);
    EXPECT_EQ(second->lr(), whole->lr());
    for (int i = 0; i < 6; ++i) {
      StepInValley(point, *whole);
      StepInValley(copy, *second);
    }
    EXPECT_TRUE(AreSamePoint(point, copy)) << saved_after;
  }
}

TEST(SequentialOptimizerTest, RefusesTheStateOfAnotherTypeThatWouldFit) {
  const ValleyPoint point = StartPoint();
  const auto of = [&](const char* type) {
    const auto first = std::make_shared<Adam>(point, Adam::Options{});
    first->set_type(type);
    return SequentialOptimizer(
        {first, std::make_shared<Adam>(point, Adam::Options{})}, {9});
  };
  SequentialOptimizer adam = of("Adam");
  for (int i = 0; i < 2; ++i) StepInValley(point, adam);
  SequentialOptimizer same = of("Adam");
  same.LoadState(adam.State());
  EXPECT_EQ(same.num_steps(), 2);
  SequentialOptimizer other = of("AdamW");
  EXPECT_NE(ErrorOf([&] {
              other.LoadState(adam.State());
            }).find("of Adam, optimizers[0] is AdamW"),
            std::string::npos);
  EXPECT_EQ(other.num_steps(), 0);
}

TEST(SequentialOptimizerTest, GoesOnFromTheStateOfItsFirstOptimizerAlone) {
  const ValleyPoint point = StartPoint();
  Adam adam(point, Adam::Options{.lr = 0.1});
  for (int i = 0; i < 4; ++i) StepInValley(point, adam);
  for (const int64_t milestone : {3, 9}) {
    const auto optimizer = AdamThenLbfgs(point, milestone);
    EXPECT_EQ(RestoreOptimizer(*optimizer, adam.Settings(), adam.State()), "");
    EXPECT_EQ(optimizer->num_steps(), 4);
    EXPECT_EQ(optimizer->needs_closure(), milestone == 3);
  }
}

TEST(SequentialOptimizerTest, ScalesAllRates) {
  const ValleyPoint point = StartPoint();
  const auto optimizer = AdamThenLbfgs(point, 1);
  optimizer->ScaleRates(2.0);
  EXPECT_DOUBLE_EQ(optimizer->lr(), 0.2);
  StepInValley(point, *optimizer);
  EXPECT_DOUBLE_EQ(optimizer->lr(), 2.0);
  EXPECT_DOUBLE_EQ(optimizer->groups()[0].initial_lr, 2.0);
}

TEST(SequentialOptimizerTest, RefusesOtherGroupsAndBrokenStates) {
  const ValleyPoint point = StartPoint();
  const auto sgd = [](const ParameterGroups& groups) {
    return std::make_shared<Sgd>(groups, Sgd::Options{.lr = 0.1});
  };
  const auto make = [](std::shared_ptr<Optimizer> a,
                       std::shared_ptr<Optimizer> b) {
    return SequentialOptimizer({std::move(a), std::move(b)}, {1});
  };
  const auto one = sgd(point);
  EXPECT_THROW(make(one, one), Error);
  EXPECT_THROW(make(one, sgd(ValleyPoint{point[0]})), Error);
  EXPECT_THROW(
      make(one, sgd(std::vector<ParameterGroup>{{.parameters = {point[0]}},
                                                {.parameters = {point[1]}}})),
      Error);
  SequentialOptimizer two = make(one, sgd(point));
  std::vector<NamedTensor> state = two.State();
  for (NamedTensor& each : state) {
    if (each.name == "sequence.index") each.tensor = torch::full({1}, 2.0);
  }
  EXPECT_THROW(two.LoadState(state), Error);
}

}  // namespace
}  // namespace epochd::engine
