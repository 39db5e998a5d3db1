// SPDX-License-Identifier: Apache-2.0
// Rates are compared with Python's, bit for bit, in tests/golden.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "tests/worker/engine/schedule/made.h"
#include "worker/engine/core/error.h"
#include "worker/engine/optim/adam.h"
#include "worker/engine/optim/sgd.h"
#include "worker/engine/schedule/annealing.h"
#include "worker/engine/schedule/builtin.h"
#include "worker/engine/schedule/multiplicative.h"
#include "worker/engine/schedule/piecewise.h"
#include "worker/engine/schedule/plateau.h"

namespace epochd::engine {
namespace {

TEST(WindowedSchedulerTest, KeepsWhatAHookDidToTheRate) {
  Sgd optimizer({}, {.lr = 1.0});
  ExponentialScheduler scheduler(0.5);
  scheduler.Start(optimizer);
  scheduler.Step(optimizer, std::nullopt);
  EXPECT_EQ(optimizer.lr(), 0.5);
  optimizer.set_lr(0.2);
  scheduler.Step(optimizer, std::nullopt);
  EXPECT_EQ(optimizer.lr(), 0.1);
}

TEST(WindowedSchedulerTest, RefusesAStateWithoutItsNumbers) {
  StepScheduler scheduler(1, 0.5);
  EXPECT_THROW(scheduler.LoadState({{"epoch", 3}}), Error);
  EXPECT_THROW(scheduler.LoadState({{"steps", "x"}}), Error);
  EXPECT_THROW(scheduler.LoadState(nlohmann::ordered_json::array()), Error);
}

TEST(PlateauSchedulerTest, NanNeverBecomesTheBest) {
  Sgd optimizer({}, {.lr = 1.0});
  PlateauScheduler scheduler({.factor = 0.5, .patience = 0});
  scheduler.Start(optimizer);
  scheduler.Step(optimizer, std::nan(""));
  EXPECT_EQ(optimizer.lr(), 0.5);
  scheduler.Step(optimizer, 3.0);
  EXPECT_EQ(optimizer.lr(), 0.5);
}

TEST(PlateauSchedulerTest, StateBeforeTheFirstEpochIsPlainJson) {
  PlateauScheduler scheduler({.maximize = true});
  const std::string text = scheduler.State().dump();
  EXPECT_NE(text.find("\"best\":\"-Infinity\""), std::string::npos) << text;
  PlateauScheduler other({.maximize = true});
  other.LoadState(nlohmann::ordered_json::parse(text));
  EXPECT_EQ(other.State(), scheduler.State());
}

TEST(WindowedSchedulerTest, ChangesValuesInItsWindowOnly) {
  Sgd optimizer({}, {.lr = 1.0});
  ExponentialScheduler scheduler(0.5, {.begin = 2, .end = 5});
  scheduler.Start(optimizer);
  std::vector<double> rates{optimizer.lr()};
  for (int step = 0; step < 6; ++step) {
    scheduler.Step(optimizer, std::nullopt);
    rates.push_back(optimizer.lr());
  }
  // Step 2 is t = 0.
  EXPECT_EQ(rates, (std::vector<double>{1, 1, 1, 0.5, 0.25, 0.25, 0.25}));
}

TEST(WindowedSchedulerTest, MomentumNeedsAnOptimizerThatHasOne) {
  const ScheduleOptions momentum{.setting = Setting::kMomentum};
  Sgd without({}, {.lr = 1.0});
  EXPECT_THROW(ExponentialScheduler(0.5, momentum).Start(without), Error);
  Adam adam({}, {});
  ExponentialScheduler scheduler(0.5, momentum);
  scheduler.Start(adam);
  scheduler.Step(adam, std::nullopt);
  EXPECT_EQ(adam.momentum(), 0.45);
  EXPECT_EQ(adam.lr(), 1e-3);
}

TEST(LinearSchedulerTest, MayStartFromNothing) {
  Sgd optimizer({}, {.lr = 2.0});
  LinearScheduler scheduler({.start_factor = 0.0, .total = 4});
  scheduler.Start(optimizer);
  std::vector<double> rates{optimizer.lr()};
  for (int step = 0; step < 5; ++step) {
    scheduler.Step(optimizer, std::nullopt);
    rates.push_back(optimizer.lr());
  }
  EXPECT_EQ(rates, (std::vector<double>{0, 0.5, 1, 1.5, 2, 2}));
}

TEST(PiecewiseSchedulerTest, HoldsOrInterpolates) {
  const std::vector<NamedTensor> one{{"a", torch::zeros({1})}};
  const std::vector<NamedTensor> two{{"b", torch::zeros({1})}};
  const auto rates = [&](bool is_linear) {
    Sgd optimizer(std::vector<ParameterGroup>{{.parameters = one},
                                              {.parameters = two, .lr = 0.5}},
                  {.lr = 1.0});
    PiecewiseScheduler scheduler({.milestones = {1, 3, 5},
                                  .values = {0.2, 0.4, 0.1},
                                  .is_linear = is_linear});
    scheduler.Start(optimizer);
    std::vector<double> seen;
    for (int step = 0; step < 7; ++step) {
      EXPECT_DOUBLE_EQ(optimizer.groups()[1].lr, optimizer.lr() / 2);
      seen.push_back(optimizer.lr());
      scheduler.Step(optimizer, std::nullopt);
    }
    return seen;
  };
  EXPECT_EQ(rates(false),
            (std::vector<double>{0.2, 0.2, 0.2, 0.4, 0.4, 0.1, 0.1}));
  const std::vector<double> expected{0.2, 0.2, 0.3, 0.4, 0.25, 0.1, 0.1};
  const std::vector<double> linear = rates(true);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_DOUBLE_EQ(linear[i], expected[i]) << i;
  }
}

TEST(BuiltinSchedulersTest, NamesOfTorchAndMmengineAreFound) {
  catalogue::Catalogue catalogue;
  for (const Entry<Scheduler>& entry : BuiltinSchedulers()) {
    catalogue.components.push_back(entry.component);
  }
  for (const char* name : {"StepLR",
                           "MultiStepLR",
                           "ExponentialLR",
                           "ConstantLR",
                           "LinearLR",
                           "PolynomialLR",
                           "torch.optim.lr_scheduler.CosineAnnealingLR",
                           "CosineAnnealingWarmRestarts",
                           "OneCycleLR",
                           "CyclicLR",
                           "ReduceLROnPlateau",
                           "SequentialLR",
                           "ChainedScheduler",
                           "SWALR",
                           "PolyLR",
                           "CosineRestartLR",
                           "ReduceOnPlateauLR",
                           "ReduceOnPlateauMomentum",
                           "CosineRestartMomentum",
                           "CosineAnnealingMomentum",
                           "ConstantMomentum",
                           "ExponentialMomentum",
                           "LinearMomentum",
                           "MultiStepMomentum",
                           "PolyMomentum",
                           "StepMomentum",
                           "OneCycleParamScheduler",
                           "plateau",
                           "one_cycle"}) {
    EXPECT_NE(catalogue.Find("scheduler", name), nullptr) << name;
  }
}

struct Refusal {
  const char* job;
  const char* message;
};

class SchedulerParametersTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(SchedulerParametersTest, SaysWhatContradicts) {
  const std::string message = ErrorOf([] { MadeScheduler(GetParam().job); });
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, SchedulerParametersTest,
    ::testing::Values(
        Refusal{R"({"type": "LinearLR", "begin": 5, "end": 5})",
                "experiment.lr_scheduler.begin: expected less than end, which "
                "is 5, "
                "got 5"},
        Refusal{
            R"({"type": "LinearLR", "by": "step", "by_epoch": true})",
            "by_epoch: expected false with by: iteration or step, got true"},
        Refusal{
            R"({"type": "LinearLR", "by": "iteration",
                    "convert_to_iter_based": true})",
            "convert_to_iter_based: expected false with by: iteration or step, "
            "got true"},
        Refusal{R"({"type": "CosineAnnealingLR", "eta_min": 0.1,
                    "eta_min_ratio": 0.1})",
                "eta_min_ratio: given beside 'eta_min'"},
        Refusal{R"({"type": "CosineRestartLR", "periods": [3, 4]})",
                "restart_weights: expected 2 values, as many as periods has, "
                "got 1"},
        Refusal{R"({"type": "PolynomialLR", "total_iters": 5, "eta_min": 0.1})",
                "eta_min: torch's rule goes to 0"},
        Refusal{R"({"type": "ReduceLROnPlateau", "by": "iteration"})",
                "by: expected \"epoch\", got \"iteration\""},
        Refusal{R"({"type": "ReduceLROnPlateau", "factor": 1.0})",
                "factor: expected less than 1, got 1.0"},
        Refusal{R"({"type": "OneCycleLR", "max_lr": 0.1, "epochs": 3})",
                "steps_per_epoch: missing, epochs needs it"},
        Refusal{R"({"type": "OneCycleLR", "max_lr": 0.1, "eta_max": 0.1})",
                "eta_max: given beside 'max_lr', expected one of max_lr or "
                "eta_max"},
        Refusal{
            R"({"type": "Piecewise", "milestones": [3, 3],
                    "values": [1, 2]})",
            "milestones[1]: expected more than 3, the number before it, got 3"},
        Refusal{R"({"type": "Piecewise", "milestones": [3], "values": [1],
                    "factors": [1]})",
                "factors: given beside 'values'"},
        Refusal{R"({"type": "SequentialLR", "milestones": [1, 2],
                    "schedulers": [{"type": "StepLR", "step_size": 1}]})",
                "milestones: expected 0 values, one less than schedulers has, "
                "got 2"}));

}  // namespace
}  // namespace epochd::engine
