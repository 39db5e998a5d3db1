// SPDX-License-Identifier: Apache-2.0
// Whole loss curves are compared with Python's in tests/golden.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <functional>
#include <map>
#include <memory>

#include "tests/worker/engine/error_of.h"
#include "worker/engine/core/error.h"
#include "worker/engine/optim/adagrad.h"
#include "worker/engine/optim/adam.h"
#include "worker/engine/optim/adamax.h"
#include "worker/engine/optim/builtin.h"
#include "worker/engine/optim/lion.h"
#include "worker/engine/optim/nadam.h"
#include "worker/engine/optim/radam.h"
#include "worker/engine/optim/rmsprop.h"
#include "worker/engine/optim/sgd.h"

namespace epochd::engine {
namespace {

using Make = std::function<std::unique_ptr<Optimizer>(ParameterGroups)>;

template <class T>
Make With(typename T::Options options) {
  return [options](ParameterGroups groups) {
    return std::make_unique<T>(std::move(groups), options);
  };
}

std::map<std::string, Make> Optimizers() {
  return {
      {"Sgd", With<Sgd>({.lr = 0.1, .momentum = 0.9})},
      {"SgdWithoutMomentum", With<Sgd>({.lr = 0.1})},
      {"Adam", With<Adam>({.lr = 0.1, .weight_decay = 0.1})},
      {"AdamW", With<Adam>({.lr = 0.1,
                            .weight_decay = 0.1,
                            .amsgrad = true,
                            .decoupled_weight_decay = true})},
      {"Adagrad", With<Adagrad>({.lr = 0.1, .weight_decay = 0.1})},
      {"Rmsprop", With<Rmsprop>({.lr = 0.1})},
      {"RmspropCentered", With<Rmsprop>({.lr = 0.1,
                                         .weight_decay = 0.1,
                                         .momentum = 0.5,
                                         .centered = true})},
      {"Nadam", With<Nadam>({{.lr = 0.1, .weight_decay = 0.1}})},
      {"Radam", With<Radam>({.lr = 0.1, .beta2 = 0.5})},
      {"Adamax", With<Adamax>({.lr = 0.1})},
      {"Lion", With<Lion>({.lr = 0.1, .weight_decay = 0.1})},
  };
}

std::vector<NamedTensor> MakeParameters() {
  return {{"weight", torch::full({3, 2}, 0.5).requires_grad_()},
          {"bias", torch::full({2}, -0.25).requires_grad_()}};
}

void SetGradient(const NamedTensor& parameter, double scale) {
  parameter.tensor.mutable_grad() =
      torch::linspace(-1, 2, parameter.tensor.numel())
          .reshape(parameter.tensor.sizes()) *
      scale;
}

std::vector<NamedTensor> Cloned(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> clones;
  for (const auto& [name, tensor] : tensors) {
    clones.push_back({name, tensor.detach().clone()});
  }
  return clones;
}

void Assign(const std::vector<NamedTensor>& from,
            const std::vector<NamedTensor>& to) {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < to.size(); ++i) to[i].tensor.copy_(from[i].tensor);
}

class GroupedOptimizerTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Optimizer> Make(std::vector<NamedTensor> parameters) {
    return Optimizers().at(GetParam())(std::move(parameters));
  }
  std::unique_ptr<Optimizer> MakeGrouped(std::vector<ParameterGroup> groups) {
    return Optimizers().at(GetParam())(std::move(groups));
  }
};

TEST_P(GroupedOptimizerTest, ContinuesBitForBitFromItsState) {
  const std::vector<NamedTensor> parameters = MakeParameters();
  const auto whole = Make(parameters);
  for (int step = 0; step < 3; ++step) {
    for (const NamedTensor& p : parameters) SetGradient(p, 1.0 / (step + 1));
    whole->Step();
  }
  const std::vector<NamedTensor> state = Cloned(whole->State());
  const std::vector<NamedTensor> resumed = MakeParameters();
  Assign(parameters, resumed);
  const auto second = Make(resumed);
  second->LoadState(state);
  for (int step = 3; step < 6; ++step) {
    for (const NamedTensor& p : parameters) SetGradient(p, 1.0 / (step + 1));
    for (const NamedTensor& p : resumed) SetGradient(p, 1.0 / (step + 1));
    whole->Step();
    second->Step();
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(torch::equal(parameters[i].tensor, resumed[i].tensor));
  }
}

// A parameter skipped in some steps keeps its own count, as in torch, where
// each parameter has a state of its own.
TEST_P(GroupedOptimizerTest, CountsStepsOfEachParameter) {
  const std::vector<NamedTensor> together = MakeParameters();
  const std::vector<NamedTensor> alone = MakeParameters();
  const auto joint = Make(together);
  const auto weight = Make({alone[0]});
  const auto bias = Make({alone[1]});
  for (int step = 0; step < 6; ++step) {
    joint->ZeroGrad();
    bias->ZeroGrad();
    SetGradient(together[0], step + 1);
    SetGradient(alone[0], step + 1);
    if (step % 2 == 1) {
      SetGradient(together[1], step + 1);
      SetGradient(alone[1], step + 1);
    }
    joint->Step();
    weight->Step();
    if (step % 2 == 1) bias->Step();
  }
  for (size_t i = 0; i < together.size(); ++i) {
    EXPECT_TRUE(torch::equal(together[i].tensor, alone[i].tensor)) << i;
  }
  // The count survives the round trip.
  const std::vector<NamedTensor> state = Cloned(joint->State());
  bool found = false;
  for (const auto& [name, tensor] : state) {
    if (name == "step") {
      EXPECT_EQ(tensor.item<double>(), 6);
    }
    if (name != "step.bias") continue;
    EXPECT_EQ(tensor.item<double>(), 3);
    found = true;
  }
  EXPECT_TRUE(found);
  const std::vector<NamedTensor> resumed = MakeParameters();
  Assign(together, resumed);
  const auto again = Make(resumed);
  again->LoadState(state);
  for (const NamedTensor& p : together) SetGradient(p, 0.5);
  for (const NamedTensor& p : resumed) SetGradient(p, 0.5);
  joint->Step();
  again->Step();
  for (size_t i = 0; i < together.size(); ++i) {
    EXPECT_TRUE(torch::equal(together[i].tensor, resumed[i].tensor)) << i;
  }
}

TEST_P(GroupedOptimizerTest, StepsWithTheLearningRateThatIsSet) {
  const std::vector<NamedTensor> parameters = MakeParameters();
  const auto optimizer = Make(parameters);
  EXPECT_EQ(optimizer->lr(), 0.1);
  optimizer->set_lr(0.0);
  const std::vector<NamedTensor> before = Cloned(parameters);
  for (const NamedTensor& p : parameters) SetGradient(p, 1.0);
  optimizer->Step();
  for (size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(torch::equal(parameters[i].tensor, before[i].tensor));
  }
  EXPECT_EQ(optimizer->groups()[0].initial_lr, 0.1);
}

TEST_P(GroupedOptimizerTest, GoesUpWhereGradientsAreNegated) {
  const std::vector<NamedTensor> down = MakeParameters();
  const std::vector<NamedTensor> up = MakeParameters();
  const auto one = Make(down);
  const auto other = Make(up);
  for (int step = 0; step < 3; ++step) {
    for (const NamedTensor& p : down) SetGradient(p, 1.0);
    for (const NamedTensor& p : up) SetGradient(p, -1.0);
    one->Step();
    other->Step();
  }
  EXPECT_LT(down[0].tensor[2][1].item<double>(),
            up[0].tensor[2][1].item<double>());
}

TEST_P(GroupedOptimizerTest, GroupsStepByTheirOwnSettings) {
  const std::vector<NamedTensor> whole = MakeParameters();
  const std::vector<NamedTensor> parts = MakeParameters();
  const auto one = Make(whole);
  const auto grouped = MakeGrouped(std::vector<ParameterGroup>{
      {.parameters = {parts[0]}},
      {.name = "still", .parameters = {parts[1]}, .lr = 0.0}});
  ASSERT_EQ(grouped->groups().size(), 2u);
  EXPECT_EQ(grouped->groups()[1].name, "still");
  for (int step = 0; step < 3; ++step) {
    for (const NamedTensor& p : whole) SetGradient(p, 1.0);
    for (const NamedTensor& p : parts) SetGradient(p, 1.0);
    one->Step();
    grouped->Step();
  }
  EXPECT_TRUE(torch::equal(whole[0].tensor, parts[0].tensor));
  EXPECT_TRUE(torch::equal(MakeParameters()[1].tensor, parts[1].tensor));
}

TEST_P(GroupedOptimizerTest, MomentumIsReadAtEachStep) {
  const std::vector<NamedTensor> parameters = MakeParameters();
  const std::vector<NamedTensor> others = MakeParameters();
  const auto optimizer = Make(parameters);
  const auto other = Make(others);
  for (const double scale : {-1.5, -1.5, 0.02}) {
    for (const NamedTensor& p : parameters) SetGradient(p, scale);
    for (const NamedTensor& p : others) SetGradient(p, scale);
    if (other->has_momentum()) other->set_momentum(0.3);
    optimizer->Step();
    other->Step();
  }
  EXPECT_EQ(torch::equal(parameters[0].tensor, others[0].tensor),
            !optimizer->has_momentum());
}

TEST_P(GroupedOptimizerTest, ZeroGradClearsToUndefinedAndAStepThenDoesNothing) {
  const std::vector<NamedTensor> parameters = MakeParameters();
  const auto optimizer = Make(parameters);
  for (const NamedTensor& p : parameters) SetGradient(p, 1.0);
  optimizer->Step();
  optimizer->ZeroGrad();
  EXPECT_FALSE(parameters[0].tensor.grad().defined());
  const std::vector<NamedTensor> before = Cloned(parameters);
  optimizer->Step();
  EXPECT_TRUE(torch::equal(parameters[0].tensor, before[0].tensor));
}

TEST_P(GroupedOptimizerTest, RefusesAStateOfAnotherModelAndStaysAsItWas) {
  const std::vector<NamedTensor> parameters = MakeParameters();
  const auto optimizer = Make(parameters);
  for (const NamedTensor& p : parameters) SetGradient(p, 1.0);
  optimizer->Step();
  const std::vector<NamedTensor> before = Cloned(optimizer->State());
  EXPECT_THROW(optimizer->LoadState({}), Error);
  if (before.size() > 1) {
    std::vector<NamedTensor> other = before;
    other.back().tensor = torch::zeros({7});
    try {
      optimizer->LoadState(other);
      ADD_FAILURE() << "a state of another shape was taken";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(other.back().name),
                std::string::npos);
    }
    other.pop_back();
    EXPECT_THROW(optimizer->LoadState(other), Error);
  }
  const std::vector<NamedTensor> after = optimizer->State();
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].name, before[i].name);
    EXPECT_TRUE(torch::equal(after[i].tensor, before[i].tensor));
  }
}

TEST_P(GroupedOptimizerTest, TakesParametersOfSeveralTypes) {
  const std::vector<NamedTensor> parameters{
      {"float", torch::ones({4}).requires_grad_()},
      {"double", torch::ones({4}, torch::kDouble).requires_grad_()}};
  const auto optimizer = Make(parameters);
  for (const auto& [name, tensor] : parameters) {
    tensor.mutable_grad() = torch::ones_like(tensor);
  }
  optimizer->Step();
  EXPECT_TRUE(torch::allclose(parameters[0].tensor.to(torch::kDouble),
                              parameters[1].tensor, 1e-5, 1e-6));
  EXPECT_LT(parameters[1].tensor[0].item<double>(), 1.0);
}

INSTANTIATE_TEST_SUITE_P(All, GroupedOptimizerTest,
                         ::testing::Values("Sgd", "SgdWithoutMomentum", "Adam",
                                           "AdamW", "Adagrad", "Rmsprop",
                                           "RmspropCentered", "Nadam", "Radam",
                                           "Adamax", "Lion"));

// Every kind loads from every other, through its settings, at the start and
// after a step: it refuses, or goes on; and a refusal changes nothing.
TEST_P(GroupedOptimizerTest, TakesOrRefusesWhatAnotherKindLeft) {
  for (const auto& [name, make] : Optimizers()) {
    for (const bool has_stepped : {false, true}) {
      const std::vector<NamedTensor> parameters = MakeParameters();
      const auto other = make(parameters);
      for (const NamedTensor& p : parameters) SetGradient(p, 1.0);
      if (has_stepped) other->Step();
      const auto optimizer = Make(parameters);
      const auto before = optimizer->Settings();
      const std::string refusal = BadSpecOf([&] {
        RestoreOptimizer(*optimizer, other->Settings(), other->State());
      });
      if (!refusal.empty()) {
        EXPECT_EQ(optimizer->Settings(), before) << name;
      }
      for (const NamedTensor& p : parameters) SetGradient(p, 1.0);
      optimizer->Step();
      EXPECT_TRUE(parameters[0].tensor.isfinite().all().item<bool>()) << name;
    }
  }
}

TEST(SgdTest, WithoutMomentumTakesNoneFromAnotherOptimizer) {
  const std::vector<NamedTensor> parameters = MakeParameters();
  Adam adam(parameters, {});
  Sgd sgd(parameters, {.lr = 0.5});
  EXPECT_EQ(RestoreOptimizer(sgd, adam.Settings(), adam.State()), "");
  EXPECT_EQ(sgd.momentum(), 0.0);
  for (const NamedTensor& p : parameters) SetGradient(p, 1.0);
  adam.Step();
  EXPECT_EQ(
      BadSpecOf([&] { RestoreOptimizer(sgd, adam.Settings(), adam.State()); }),
      "optimizer state \"exp_avg.weight\": of another optimizer; a state "
      "saved from the same model and optimizer is accepted");
}

TEST(RestoreOptimizerTest, RefusesAnotherTypeWhoseStateWouldFit) {
  const std::vector<NamedTensor> parameters = MakeParameters();
  Adam saved(parameters, {});
  saved.set_type("Adam");
  Adam optimizer(parameters, {.lr = 0.5, .decoupled_weight_decay = true});
  optimizer.set_type("AdamW");
  EXPECT_EQ(BadSpecOf([&] {
              RestoreOptimizer(optimizer, saved.Settings(), saved.State());
            }),
            "optimizer state: of Adam, this optimizer is AdamW; one of the "
            "same type is accepted");
  EXPECT_EQ(optimizer.lr(), 0.5);
  saved.set_type("AdamW");
  EXPECT_EQ(RestoreOptimizer(optimizer, saved.Settings(), saved.State()), "");
}

TEST(SgdTest, RefusesNesterovWithoutMomentum) {
  EXPECT_THROW(Sgd({}, {.nesterov = true}), Error);
  EXPECT_THROW(Sgd({}, {.momentum = 0.9, .dampening = 0.1, .nesterov = true}),
               Error);
  EXPECT_NO_THROW(Sgd({}, {.momentum = 0.9, .nesterov = true}));
}

TEST(AdamTest, StateIsNamedAsInPython) {
  const std::vector<NamedTensor> parameters = MakeParameters();
  Adam optimizer(parameters, {});
  for (const NamedTensor& p : parameters) SetGradient(p, 1.0);
  optimizer.Step();
  std::vector<std::string> names;
  for (const NamedTensor& named : optimizer.State()) {
    names.push_back(named.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "step", "exp_avg.weight", "exp_avg_sq.weight",
                       "exp_avg.bias", "exp_avg_sq.bias"}));
}

TEST(BuiltinOptimizersTest, TorchsNamesAreFound) {
  catalogue::Catalogue catalogue;
  for (const OptimizerEntry& entry : BuiltinOptimizers()) {
    catalogue.components.push_back(entry.component);
  }
  for (const char* name :
       {"torch.optim.SGD", "torch.optim.AdamW", "adam", "Adagrad", "RMSprop",
        "NAdam", "RAdam", "Adamax", "torch.optim.LBFGS", "Lion"}) {
    EXPECT_NE(catalogue.Find("optimizer", name), nullptr) << name;
  }
}

}  // namespace
}  // namespace epochd::engine
