// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>

namespace epochd::engine {
namespace {

double ThroughText(double value) {
  return ToNumber(nlohmann::ordered_json::parse(FromNumber(value).dump()));
}

TEST(NumberTest, BringsBackTheSameBits) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 10000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (std::isnan(value)) continue;
    EXPECT_EQ(std::bit_cast<uint64_t>(ThroughText(value)),
              std::bit_cast<uint64_t>(value));
  }
}

TEST(NumberTest, SpellsOutWhatJsonHasNoNumberFor) {
  EXPECT_EQ(FromNumber(NAN), "NaN");
  EXPECT_EQ(FromNumber(-INFINITY), "-Infinity");
  EXPECT_TRUE(std::isnan(ThroughText(NAN)));
  EXPECT_EQ(ThroughText(INFINITY), INFINITY);
  EXPECT_EQ(ThroughText(-INFINITY), -INFINITY);
}

}  // namespace
}  // namespace epochd::engine
