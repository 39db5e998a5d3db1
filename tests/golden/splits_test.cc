// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/splits.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/golden/golden.h"
#include "worker/engine/data/samplers.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

TEST(GoldenSplitsTest, FoldsAreThoseOfScikitLearn) {
  const auto recorded = golden::Read("splits").at("splits");
  ASSERT_EQ(recorded.size(), 8u);
  for (const auto& each : recorded) {
    SplitInput input{.size = each.at("size")};
    input.labels = each.value("labels", std::vector<int64_t>());
    input.groups = each.value("groups", std::vector<int64_t>());
    EXPECT_EQ(SplitIntoFolds(input, each.at("folds"), std::nullopt),
              each.at("fold_of").get<std::vector<int>>())
        << each.dump();
  }
}

TEST(GoldenSplitsTest, WeightedOrdersAreTorchsWhereThatIsAsked) {
  const auto recorded = golden::Read("splits").at("weighted");
  const std::vector<double> weights = recorded.at("weights");
  const TensorDataset data(
      Batch{{"input", at::zeros({static_cast<int64_t>(weights.size())})}});
  ASSERT_EQ(recorded.at("cases").size(), 4u);
  for (const auto& each : recorded.at("cases")) {
    const WeightedSampler sampler({.weights = weights,
                                   .num_samples = each.at("count"),
                                   .replacement = each.at("replacement")});
    EXPECT_EQ(sampler.Bind(data, 1)->Order(
                  {.epoch = each.at("epoch"), .torch_seed = each.at("seed")}),
              each.at("order").get<std::vector<int64_t>>())
        << each.dump();
  }
}

}  // namespace
}  // namespace epochd::engine
