// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "worker/engine/core/error.h"
#include "worker/engine/metric/accuracy.h"
#include "worker/engine/metric/builtin.h"
#include "worker/engine/metric/psnr.h"

namespace epochd::engine {
namespace {

double ValueOf(const Metric& metric) {
  return metric.Values(metric.Sums())[0].second;
}

Batch Scores() {
  return {{"output",
           torch::tensor(
               {{3.0f, 2.0f, 1.0f}, {1.0f, 2.0f, 3.0f}, {2.0f, 3.0f, 1.0f}})},
          {"target", torch::tensor({0, 0, 0})}};
}

TEST(AccuracyTest, CountsTheHighestScores) {
  TopKAccuracy top1({.k = 1});
  top1.Update(Scores());
  EXPECT_DOUBLE_EQ(ValueOf(top1), 1.0 / 3.0);
  TopKAccuracy top2({.k = 2});
  top2.Update(Scores());
  EXPECT_DOUBLE_EQ(ValueOf(top2), 2.0 / 3.0);
}

TEST(AccuracyTest, WeighsBatchesBySamples) {
  TopKAccuracy metric({});
  metric.Update(Scores());
  metric.Update({{"output", torch::tensor({{1.0f, 0.0f}})},
                 {"target", torch::tensor({0})}});
  EXPECT_DOUBLE_EQ(ValueOf(metric), 0.5);
}

TEST(AccuracyTest, SumsOfRanksAddUp) {
  TopKAccuracy here({});
  TopKAccuracy there({});
  here.Update(Scores());
  there.Update({{"output", torch::tensor({{1.0f, 0.0f}})},
                {"target", torch::tensor({0})}});
  const at::Tensor total = here.Sums() + there.Sums();
  EXPECT_DOUBLE_EQ(here.Values(total)[0].second, 0.5);
}

TEST(AccuracyTest, TakesProbabilitiesAsTarget) {
  TopKAccuracy metric({});
  metric.Update({{"output", torch::tensor({{1.0f, 0.0f}, {1.0f, 0.0f}})},
                 {"target", torch::tensor({{0.9f, 0.1f}, {0.2f, 0.8f}})}});
  EXPECT_DOUBLE_EQ(ValueOf(metric), 0.5);
}

TEST(AccuracyTest, IsNanOfNothingAndForgetsOnReset) {
  TopKAccuracy metric({});
  EXPECT_TRUE(std::isnan(ValueOf(metric)));
  metric.Update(Scores());
  metric.Reset();
  EXPECT_TRUE(std::isnan(ValueOf(metric)));
}

TEST(AccuracyTest, RefusesMoreThanTheClasses) {
  TopKAccuracy metric({.k = 4});
  try {
    metric.Update(Scores());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadSpec);
    EXPECT_STREQ(error.what(),
                 "k: 4 of 3 classes; at most as many as there are is "
                 "accepted");
  }
}

Psnr::Options WithRange(double range) {
  Psnr::Options options;
  options.data_range = range;
  return options;
}

TEST(PsnrTest, IsTheMeanOverSamples) {
  Psnr metric(WithRange(1.0));
  // Squared errors of 0.01 and 0.0001: 20 dB and 40 dB.
  const at::Tensor output = torch::tensor({{0.1, 0.1}, {0.01, -0.01}});
  metric.Update({{"output", output}, {"target", torch::zeros({2, 2})}});
  EXPECT_NEAR(ValueOf(metric), 30.0, 1e-5);
}

TEST(PsnrTest, KnowsTheRangeOfTheData) {
  Psnr metric(WithRange(255.0));
  metric.Update(
      {{"output", torch::full({1, 4}, 1.0)}, {"target", torch::zeros({1, 4})}});
  EXPECT_NEAR(ValueOf(metric), 20 * std::log10(255.0), 1e-9);
}

TEST(PsnrTest, IsInfiniteWithoutError) {
  Psnr metric({});
  metric.Update({{"output", torch::ones({1, 4})},
                 {"target", torch::ones({1, 4}, torch::kInt)}});
  EXPECT_EQ(ValueOf(metric), HUGE_VAL);
}

TEST(BuiltinMetricsTest, NamesAreFoundByAlias) {
  catalogue::Catalogue catalogue;
  for (const Entry<Metric>& entry : BuiltinMetrics()) {
    catalogue.components.push_back(entry.component);
  }
  for (const char* name : {"accuracy", "TopKAccuracy", "PSNR"}) {
    EXPECT_NE(catalogue.Find("metric", name), nullptr) << name;
  }
}

}  // namespace
}  // namespace epochd::engine
