// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/core/seed.h"

#include <gtest/gtest.h>

#include <set>

namespace epochd::engine {
namespace {

TEST(SeedTest, GivesNeighboursDifferentStreams) {
  std::set<uint64_t> seeds;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (uint64_t epoch = 0; epoch < 10; ++epoch) {
      for (uint64_t index = 0; index < 100; ++index) {
        seeds.insert(HashSeed({seed, epoch, index}));
      }
    }
  }
  EXPECT_EQ(seeds.size(), 10000u);
}

TEST(SeedTest, DependsOnTheOrderAndNumberOfParts) {
  EXPECT_NE(HashSeed({1, 2}), HashSeed({2, 1}));
  EXPECT_NE(HashSeed({1}), HashSeed({1, 0}));
  EXPECT_LE(HashSeed32({1, 2, 3}), 0xffffffffu);
}

}  // namespace
}  // namespace epochd::engine
