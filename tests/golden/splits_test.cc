// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/splits.h"

#include <gtest/gtest.h>

#include "tests/golden/golden.h"

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

}  // namespace
}  // namespace epochd::engine
