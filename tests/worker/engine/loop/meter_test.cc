// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/meter.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "tests/worker/engine/digits_run.h"
#include "worker/engine/loop/training_runner.h"
#include "worker/engine/metric/accuracy.h"

namespace epochd::engine {
namespace {

double Mean(const Meter& meter) { return meter.Means("").at(0).second; }

TEST(MeterTest, Case123AShortLastBatchWeighsByItsSamples) {
  Meter meter;
  meter.Add("loss", at::scalar_tensor(.7, at::kDouble), 256);
  meter.Add("loss", at::scalar_tensor(.8, at::kDouble), 256);
  meter.Add("loss", at::scalar_tensor(.9, at::kDouble), 10);
  EXPECT_NEAR(Mean(meter), .752874, 1e-6);
}

TEST(MeterTest, Case128HalvesAreAddedUpInDouble) {
  Meter meter;
  for (int i = 0; i < 4096; ++i) {
    meter.Add("loss", at::ones({}, at::kHalf), 1);
  }
  EXPECT_EQ(meter.State()[0]["sum"], 4096.0);
  EXPECT_EQ(Mean(meter), 1.0);
}

TEST(MeterTest, Case125AskingTwiceCountsOnce) {
  TopKAccuracy metric({});
  const Batch right{{"output", at::eye(2)},
                    {"target", at::arange(2, at::kLong)}};
  const Batch wrong{{"output", at::eye(2)},
                    {"target", at::zeros({2}, at::kLong)}};
  metric.Update(right);
  // Two ranks with the same samples.
  const auto over_ranks = [&] {
    return metric.Values(metric.Sums() + metric.Sums())[0].second;
  };
  EXPECT_EQ(over_ranks(), 1.0);
  metric.Update(wrong);
  EXPECT_EQ(over_ranks(), 0.75);
  EXPECT_EQ(over_ranks(), 0.75);
}

TEST(MeterTest, Case130NoGraphIsKeptThroughAnEpoch) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's allocator does not tell what is in use";
#endif
  Json json = DigitsExperiment(10);
  json["data"].erase("val");
  json["metrics"] = Json::array();
  json.erase("monitor");
  json["monitor"] = {{"metric", "train/loss"}};
  TestRun run(json);
  size_t at_ten = 0;
  size_t at_hundred = 0;
  auto& runner = dynamic_cast<TrainingRunner&>(run.trainer().training_runner());
  runner.on_post_step.Bind([&](RunnerContext& context) {
    EXPECT_FALSE(context.loss.requires_grad());
    if (context.global_batch == 10) at_ten = mallinfo2().uordblks;
    if (context.global_batch == 100) at_hundred = mallinfo2().uordblks;
  });
  run.trainer().Start();
  run.trainer().Run();
  ASSERT_GT(at_hundred, 0u);
  // A graph of a batch is some 100 kB; scores of epochs are some bytes.
  EXPECT_LT(static_cast<double>(at_hundred),
            static_cast<double>(at_ten) + 300e3);
}

}  // namespace
}  // namespace epochd::engine
