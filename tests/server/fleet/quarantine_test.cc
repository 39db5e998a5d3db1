// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/quarantine.h"

#include <gtest/gtest.h>

namespace epochd::fleet {
namespace {

const job::WorkerId& A() {
  static const auto& id = *new job::WorkerId("a");
  return id;
}

class QuarantineTest : public testing::Test {
 protected:
  bool Fail(uint64_t job, bool may_begin = true) {
    return quarantine_.Failed(A(), job::JobId(0, job), now_, may_begin);
  }
  bool IsQuarantined() { return quarantine_.EndOf(A(), now_).has_value(); }
  // Three failures of two jobs.
  void Begin() {
    Fail(1);
    Fail(1);
    ASSERT_TRUE(Fail(2));
  }

  Quarantine quarantine_{{}};
  SteadyTime now_{absl::Hours(1)};
};

TEST_F(QuarantineTest, BeginsAfterFailuresOfDifferentJobsInARow) {
  EXPECT_FALSE(Fail(1));
  EXPECT_FALSE(Fail(2));
  EXPECT_FALSE(IsQuarantined());
  EXPECT_TRUE(Fail(3));
  EXPECT_TRUE(IsQuarantined());
  EXPECT_EQ(quarantine_.NumQuarantined(now_), 1);
  EXPECT_EQ(quarantine_.NumFailures(A()), 3);
  EXPECT_EQ(quarantine_.TermOf(A()), absl::Minutes(1));
}

TEST_F(QuarantineTest, OneJobThatCrashesSaysNothingAboutAMachine) {
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(Fail(1));
  EXPECT_FALSE(IsQuarantined());
  EXPECT_TRUE(Fail(2)) << "until another one does, too";
}

TEST_F(QuarantineTest, ASuccessInBetweenBeginsTheCountAnew) {
  Fail(1);
  Fail(2);
  quarantine_.Clear(A());
  EXPECT_FALSE(Fail(1));
  EXPECT_FALSE(Fail(2));
  EXPECT_TRUE(Fail(2));
}

TEST_F(QuarantineTest, EndsByItselfAndLeavesTheWorkerOnProbation) {
  Begin();
  now_ += absl::Seconds(59);
  EXPECT_TRUE(IsQuarantined());
  now_ += absl::Seconds(1);
  EXPECT_FALSE(IsQuarantined());
  EXPECT_TRUE(Fail(1)) << "one failure is enough now";
  EXPECT_EQ(quarantine_.TermOf(A()), absl::Minutes(2));
}

TEST_F(QuarantineTest, EachTimeItLastsTwiceAsLongUpToALimit) {
  Begin();
  absl::Duration last = absl::Minutes(1);
  for (int i = 0; i < 10; ++i) {
    now_ = *quarantine_.EndOf(A(), now_);
    ASSERT_TRUE(Fail(1));
    EXPECT_EQ(quarantine_.TermOf(A()), std::min(2 * last, absl::Hours(1)));
    last = quarantine_.TermOf(A());
  }
  EXPECT_EQ(last, absl::Hours(1));
}

TEST_F(QuarantineTest, AFailureOfWhatBeganBeforeIsNoNews) {
  Begin();
  const auto end = quarantine_.EndOf(A(), now_);
  now_ += absl::Seconds(10);
  EXPECT_FALSE(Fail(5));
  EXPECT_EQ(quarantine_.EndOf(A(), now_), end);
}

TEST_F(QuarantineTest, AFailureCountsAlsoWhereItMayNotBegin) {
  Fail(1);
  Fail(2);
  EXPECT_FALSE(Fail(3, false));
  EXPECT_FALSE(IsQuarantined());
  EXPECT_TRUE(Fail(4));
}

TEST_F(QuarantineTest, NoneBeginsWhereThatIsSwitchedOff) {
  Quarantine off({.failures = 0});
  for (uint64_t job = 1; job < 50; ++job) {
    EXPECT_FALSE(off.Failed(A(), job::JobId(0, job), now_, true));
  }
  EXPECT_EQ(off.NumQuarantined(now_), 0);
}

TEST_F(QuarantineTest, WorkersAreJudgedOneByOne) {
  Begin();
  const job::WorkerId other("b");
  EXPECT_FALSE(quarantine_.EndOf(other, now_).has_value());
  EXPECT_EQ(quarantine_.NumFailures(other), 0);
  EXPECT_FALSE(quarantine_.Failed(other, job::JobId(0, 1), now_, true));
  quarantine_.Clear(A());
  EXPECT_EQ(quarantine_.NumQuarantined(now_), 0);
  EXPECT_EQ(quarantine_.NumFailures(other), 1);
}

}  // namespace
}  // namespace epochd::fleet
