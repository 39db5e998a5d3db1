// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/dist/agreement.h"

#include <gtest/gtest.h>

#include "tests/worker/engine/dist/ranks.h"
#include "worker/engine/dist/single.h"

namespace epochd::engine {
namespace {

TEST(AgreementTest, GrantsTheWishesOfASingleRankAtOnce) {
  auto communicator = MakeSingleCommunicator();
  Agreement agreement(*communicator);
  EXPECT_FALSE(agreement.AfterStep({}).any());
  EXPECT_TRUE(agreement.AfterStep({.stop = true}).stop);
  EXPECT_TRUE(agreement.Now({.checkpoint = true}).checkpoint);
}

TEST(AgreementTest, GrantsAWishOnAllRanksAfterTheSameStep) {
  // Rank 1 wants a checkpoint after step 5; each exits with the step at which
  // it was granted.
  const std::vector<int> statuses = RunRanks(2, [](const GlooOptions& options) {
    auto communicator = MakeGlooCommunicator(options);
    Agreement agreement(*communicator);
    for (int step = 1; step < 5000; ++step) {
      const bool wish = options.rank == 1 && step == 5;
      if (agreement.AfterStep({.checkpoint = wish}).checkpoint) {
        communicator->Barrier();
        return 10 + step % 100;
      }
    }
    return 1;
  });
  ASSERT_EQ(statuses.size(), 2u);
  ASSERT_TRUE(WIFEXITED(statuses[0]));
  EXPECT_GE(WEXITSTATUS(statuses[0]), 10);
  EXPECT_EQ(statuses[0], statuses[1]);
}

TEST(AgreementTest, IncludesWishesUnderWayAtAnEpochsEnd) {
  const std::vector<int> statuses = RunRanks(2, [](const GlooOptions& options) {
    auto communicator = MakeGlooCommunicator(options);
    Agreement agreement(*communicator);
    // The wish is sent with the sum that this step starts.
    if (agreement.AfterStep({.stop = options.rank == 1}).any()) return 2;
    const bool stop = agreement.Now({}).stop;
    communicator->Barrier();
    return stop ? 0 : 1;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace epochd::engine
