// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/hook/message_hub.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace epochd::engine {
namespace {

TEST(MessageHubTest, GivesStatisticsOverWindows) {
  ScalarHistory history(4);
  EXPECT_TRUE(std::isnan(history.Get(Statistic::kMean, 2)));
  for (double value : {9.0, 1.0, 2.0, 3.0, 6.0}) history.Add(value);
  EXPECT_EQ(history.Get(Statistic::kMean, 2), 4.5);
  EXPECT_EQ(history.Get(Statistic::kMean, 4), 3.0);
  EXPECT_EQ(history.Get(Statistic::kMin, 3), 2.0);
  EXPECT_EQ(history.Get(Statistic::kMax, 2), 6.0);
  EXPECT_EQ(history.Get(Statistic::kCurrent, 4), 6.0);
  // Sums go beyond what is kept.
  EXPECT_EQ(history.Get(Statistic::kMean, ScalarHistory::kGlobal), 4.2);
  EXPECT_EQ(history.Get(Statistic::kMax, ScalarHistory::kGlobal), 9.0);
  history.BeginEpoch();
  history.Add(8);
  EXPECT_EQ(history.Get(Statistic::kMean, ScalarHistory::kEpoch), 8.0);
  EXPECT_EQ(history.Get(Statistic::kMean, 2), 7.0) << "windows cross epochs";
  EXPECT_THROW(history.Get(Statistic::kMean, 5), std::out_of_range);
}

TEST(MessageHubTest, Case133NamesDecideHowTheyAreShown) {
  for (const char* name : {"train/loss", "loss_cls", "x_loss", "train/time",
                           "train/data_time", "train/grad_norm"}) {
    const LogRule rule = DefaultLogRule(name, 10);
    EXPECT_EQ(rule.statistic, Statistic::kMean) << name;
    EXPECT_EQ(rule.window, 10) << name;
  }
  for (const char* name : {"lr", "train/accuracy", "momentum"}) {
    EXPECT_EQ(DefaultLogRule(name, 10).statistic, Statistic::kCurrent) << name;
  }
  MessageHub hub;
  for (int i = 1; i <= 12; ++i) {
    hub.Add("x_loss", static_cast<double>(i));
    hub.Add("lr", 0.1 / i);
  }
  const LogRule loss = DefaultLogRule("x_loss", 10);
  EXPECT_EQ(hub.Find("x_loss")->Get(loss.statistic, loss.window), 7.5);
  EXPECT_EQ(hub.Find("lr")->Get(Statistic::kCurrent, 1), 0.1 / 12);
}

TEST(MessageHubTest, GoesOnExactlyAfterARestart) {
  MessageHub before;
  before.Keep(200);
  for (int i = 0; i < 333; ++i) before.Add("a", 1.0 / (i + 3));
  MessageHub after;
  after.Keep(200);
  after.LoadState(nlohmann::ordered_json::parse(before.State().dump()));
  for (MessageHub* hub : {&before, &after}) hub->Add("a", 0.1);
  for (int64_t window : {int64_t{1}, int64_t{7}, int64_t{200},
                         ScalarHistory::kEpoch, ScalarHistory::kGlobal}) {
    for (Statistic statistic :
         {Statistic::kMean, Statistic::kMin, Statistic::kMax}) {
      EXPECT_EQ(after.Find("a")->Get(statistic, window),
                before.Find("a")->Get(statistic, window))
          << window;
    }
  }
  EXPECT_EQ(after.Find("a")->count(), 334);
}

TEST(MessageHubTest, TakesTensorsOfOneElement) {
  MessageHub hub;
  hub.Add("norm", at::full({1}, 2.5));
  EXPECT_EQ(hub.Find("norm")->Get(Statistic::kCurrent, 1), 2.5);
  EXPECT_EQ(hub.Find("other"), nullptr);
}

}  // namespace
}  // namespace epochd::engine
