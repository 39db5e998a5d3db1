// SPDX-License-Identifier: Apache-2.0
//
// Hundreds of simulated coordinators, each with other bad luck.
// EPOCHD_SIM_SEEDS=n runs more of them, EPOCHD_SIM_SEED=s just one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "spdlog/spdlog.h"
#include "tests/sim/world.h"

namespace epochd::sim {
namespace {

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

class SimTest : public testing::Test {
 protected:
  // What happens is said only for the one seed that somebody looks at.
  SimTest() {
    spdlog::set_level(std::getenv("EPOCHD_SIM_SEED") != nullptr
                          ? spdlog::level::info
                          : spdlog::level::off);
  }
};

TEST_F(SimTest, InvariantsHoldWhateverGoesWrong) {
  const int64_t first = FromEnvironment("EPOCHD_SIM_SEED", 1);
  const int64_t number = std::getenv("EPOCHD_SIM_SEED") != nullptr
                             ? 1
                             : FromEnvironment("EPOCHD_SIM_SEEDS", 1000);
  int64_t num_succeeded = 0;
  int64_t num_whole = 0;
  for (int64_t seed = first; seed < first + number; ++seed) {
    SCOPED_TRACE("EPOCHD_SIM_SEED=" + std::to_string(seed));
    World world(seed);
    world.Run();
    num_succeeded += world.num_succeeded();
    num_whole += world.num_whole();
    if (HasFailure()) break;
  }
  if (HasFailure() || number == 1) return;
  // The runs are not so bad that nothing is left to check.
  EXPECT_GT(num_succeeded, 5 * number);
  EXPECT_GT(num_whole, num_succeeded / 2);
}

TEST_F(SimTest, AfterASwizzleAllAreHeardWithinThirtySeconds) {
  for (uint64_t seed = 1; seed <= 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    world.RunSwizzled();
  }
}

TEST_F(SimTest, NoMessageIsSoPreciousThatAJobEndsWithIt) {
  for (const auto fault :
       {World::Fault::kLost, World::Fault::kTwice, World::Fault::kLate}) {
    for (int64_t n = 1; !HasFailure(); ++n) {
      SCOPED_TRACE(testing::Message() << "fault " << static_cast<int>(fault)
                                      << " of message " << n);
      World world(4);
      if (!world.RunOneJob(fault, n)) break;
      ASSERT_LT(n, 2000) << "the loop does not end";
    }
  }
}

TEST_F(SimTest, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    World first(seed);
    World second(seed);
    first.Run();
    second.Run();
    EXPECT_EQ(first.Trace(), second.Trace()) << seed;
  }
}

}  // namespace
}  // namespace epochd::sim
