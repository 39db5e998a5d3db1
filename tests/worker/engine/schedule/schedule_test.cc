// SPDX-License-Identifier: Apache-2.0
// Rates are compared with Python's, bit for bit, in tests/golden.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "worker/engine/core/error.h"
#include "worker/engine/optim/sgd.h"
#include "worker/engine/schedule/builtin.h"
#include "worker/engine/schedule/plateau.h"
#include "worker/engine/schedule/recursive.h"

namespace epochd::engine {
namespace {

TEST(RecursiveSchedulerTest, KeepsWhatAHookDidToTheRate) {
  Sgd optimizer({}, {.lr = 1.0});
  ExponentialScheduler scheduler(0.5);
  scheduler.Start(optimizer);
  scheduler.Step(optimizer, std::nullopt);
  EXPECT_EQ(optimizer.lr(), 0.5);
  optimizer.set_lr(0.2);
  scheduler.Step(optimizer, std::nullopt);
  EXPECT_EQ(optimizer.lr(), 0.1);
}

TEST(RecursiveSchedulerTest, StartsFromTheRateTheOptimizerWasBuiltWith) {
  Sgd optimizer({}, {.lr = 0.9});
  optimizer.set_lr(0.4);
  ConstantScheduler scheduler(0.5, 2);
  scheduler.Start(optimizer);
  EXPECT_EQ(optimizer.lr(), 0.45);
}

TEST(RecursiveSchedulerTest, RefusesAStateWithoutItsNumbers) {
  StepScheduler scheduler(1, 0.5);
  EXPECT_THROW(scheduler.LoadState({{"epoch", 3}}), Error);
  EXPECT_THROW(scheduler.LoadState({{"epoch", "x"}, {"base_lr", 0.1}}), Error);
  EXPECT_THROW(scheduler.LoadState(nlohmann::ordered_json::array()), Error);
}

TEST(PlateauSchedulerTest, AsksForTheMonitoredMetric) {
  Sgd optimizer({}, {.lr = 1.0});
  PlateauScheduler scheduler({});
  EXPECT_TRUE(scheduler.needs_metric());
  scheduler.Start(optimizer);
  try {
    scheduler.Step(optimizer, std::nullopt);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadSpec);
    EXPECT_NE(std::string(error.what()).find("monitor.metric"),
              std::string::npos);
  }
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

TEST(BuiltinLrSchedulersTest, TorchsNamesAreAliases) {
  catalogue::Catalogue catalogue;
  for (const Entry<LrScheduler>& entry : BuiltinLrSchedulers()) {
    catalogue.components.push_back(entry.component);
  }
  for (const char* name :
       {"StepLR", "MultiStepLR", "ExponentialLR", "ConstantLR",
        "torch.optim.lr_scheduler.CosineAnnealingLR", "ReduceLROnPlateau",
        "plateau"}) {
    EXPECT_NE(catalogue.Find("lr_scheduler", name), nullptr) << name;
  }
}

}  // namespace
}  // namespace epochd::engine
