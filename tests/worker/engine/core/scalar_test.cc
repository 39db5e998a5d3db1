// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/scalar.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace epochd::engine {
namespace {

TEST(ScalarTest, ReadsAsItemDoes) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf,
                                    at::kBFloat16, at::kLong, at::kBool}) {
    const at::Tensor one = at::full({1, 1}, 1.0, at::kDouble).to(type);
    EXPECT_EQ(ReadScalar(one), 1.0) << c10::toString(type);
  }
  const at::Tensor third = at::full({}, 1.0 / 3.0, at::kFloat);
  EXPECT_EQ(ReadScalar(third), third.item<double>());
  // A view into the middle.
  EXPECT_EQ(ReadScalar(at::arange(5, at::kFloat)[3]), 3.0);
  EXPECT_TRUE(std::isnan(ReadScalar(
      at::full({}, std::numeric_limits<double>::quiet_NaN(), at::kFloat))));
  EXPECT_THROW(ReadScalar(at::ones({2})), c10::Error);
}

TEST(ScalarTest, FindsOneOddElementWhereverItIs) {
  const double odd[] = {std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::quiet_NaN()};
  for (const int64_t size : {1, 15, 16, 17, 64, 100}) {
    at::Tensor values = at::full({size}, -std::numeric_limits<float>::max());
    ASSERT_TRUE(IsFinite(values)) << size;
    for (int64_t place = 0; place < size; ++place) {
      const double one = odd[place % 3];
      values[place] = one;
      ASSERT_FALSE(IsFinite(values)) << size << ' ' << place << ' ' << one;
      values[place] = std::numeric_limits<float>::denorm_min();
    }
    ASSERT_TRUE(IsFinite(values)) << size;
  }
}

TEST(ScalarTest, FindsOddElementsOfOtherTypesAndLayouts) {
  at::Tensor values = at::zeros({4, 6}, at::kDouble);
  EXPECT_TRUE(IsFinite(values));
  values[2][3] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(IsFinite(values));
  // Only what a view shows counts.
  const at::Tensor floats = values.to(at::kFloat);
  EXPECT_TRUE(IsFinite(floats.slice(1, 0, 6, 2)));
  EXPECT_FALSE(IsFinite(floats.slice(1, 1, 6, 2)));
  EXPECT_TRUE(IsFinite(at::zeros({0})));
}

TEST(ScalarTest, GivesTheValuesWithoutTheGraph) {
  const at::Tensor x = at::ones({}).set_requires_grad(true);
  const at::Tensor y = x * 2;
  const at::Tensor alone = WithoutGraph(y);
  EXPECT_FALSE(alone.requires_grad());
  EXPECT_EQ(alone.data_ptr(), y.data_ptr());
  EXPECT_FALSE(WithoutGraph(at::Tensor()).defined());
}

}  // namespace
}  // namespace epochd::engine
