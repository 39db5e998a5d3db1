// SPDX-License-Identifier: Apache-2.0
//
// How long finished jobs are kept.
#include <gtest/gtest.h>

#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using job::JobState;
using Code = absl::StatusCode;

Options Keep(absl::Duration ttl, int64_t max_finished_jobs = 100) {
  Options options;
  options.finished_job_ttl = ttl;
  options.max_finished_jobs = max_finished_jobs;
  return options;
}

// Submits a job and ends it at once.
job::JobId Finished(Rig& rig, const std::string& request_id = "") {
  const auto id = rig.Submit(Spec(), request_id)->job->id;
  EXPECT_TRUE(rig.Cancel(id).ok());
  return id;
}

bool IsKept(Rig& rig, job::JobId id) { return rig.board().Get(id).ok(); }

TEST(CoreRetentionTest, AFinishedJobIsRemovedOnceItIsOld) {  // P-25
  Rig rig(Keep(absl::Hours(1)));
  const auto id = Finished(rig, "r");
  const auto waiting = rig.Submit(Spec())->job->id;
  rig.Pass(absl::Minutes(59));
  EXPECT_TRUE(IsKept(rig, id));
  EXPECT_EQ(rig.Submit(Spec(), "r")->job->id, id) << "a repeat finds it";
  rig.Pass(absl::Minutes(2));
  EXPECT_FALSE(IsKept(rig, id));
  EXPECT_EQ(rig.board().ReadEvents(id, 0, 10).status().code(), Code::kNotFound);
  EXPECT_TRUE(IsKept(rig, waiting)) << "age alone removes nothing";
  const Stats stats = rig.board().GetStats();
  EXPECT_EQ(stats.jobs.at(JobState::kCancelled), 0);
  EXPECT_EQ(stats.num_removed_jobs, 1);
  EXPECT_NE(rig.Submit(Spec(), "r")->job->id, id)
      << "its request id went with it";
}

TEST(CoreRetentionTest, AnInfiniteTtlKeepsEverything) {
  Rig rig(Keep(absl::InfiniteDuration()));
  const auto id = Finished(rig);
  rig.clock().Advance(absl::Hours(24 * 1000));
  rig.Turn();
  EXPECT_TRUE(IsKept(rig, id));
}

TEST(CoreRetentionTest, TheAgeCountsFromTheEndAlsoAfterARestart) {
  Rig rig(Keep(absl::Hours(1)));
  const auto id = rig.Submit(Spec())->job->id;
  rig.Pass(absl::Hours(2));
  ASSERT_TRUE(rig.Cancel(id).ok());
  rig.Pass(absl::Minutes(50));
  rig.Restart();
  EXPECT_TRUE(IsKept(rig, id));
  rig.Pass(absl::Minutes(11));
  EXPECT_FALSE(IsKept(rig, id));
}

TEST(CoreRetentionTest, AWallClockThatJumpsMakesNoJobOld) {
  for (const absl::Duration jump : {absl::Hours(1000), -absl::Hours(1000)}) {
    Rig rig(Keep(absl::Hours(1)));
    const auto id = Finished(rig);
    rig.clock().JumpWall(jump);
    rig.Pass(absl::Minutes(50));
    EXPECT_TRUE(IsKept(rig, id)) << jump;
    rig.clock().JumpWall(-jump);
    rig.Pass(absl::Minutes(11));
    EXPECT_FALSE(IsKept(rig, id)) << jump;
  }
}

TEST(CoreRetentionTest, AJobThatFinishedUnderAWrongClockIsKeptNoLonger) {
  for (const absl::Duration wrong : {absl::Hours(1000), -absl::Hours(1000)}) {
    Rig rig(Keep(absl::Hours(1)));
    rig.clock().JumpWall(wrong);
    const auto id = Finished(rig);
    rig.Pass(absl::Minutes(30));
    rig.clock().JumpWall(-wrong);
    rig.Pass(absl::Minutes(29));
    EXPECT_TRUE(IsKept(rig, id)) << wrong;
    rig.Pass(absl::Minutes(2));
    EXPECT_FALSE(IsKept(rig, id)) << wrong;
  }
}

TEST(CoreRetentionTest, AClockThatWasSetLateKeepsNoJobForEver) {
  // A board without a clock of its own starts in the past.
  Rig rig(Keep(absl::InfiniteDuration(), 1));
  rig.clock().JumpWall(absl::Hours(24 * 365));
  for (int i = 0; i < 3; ++i) Finished(rig);
  rig.Pass(absl::Minutes(6));
  EXPECT_EQ(rig.board().GetStats().jobs.at(JobState::kCancelled), 1);
}

TEST(CoreRetentionTest, OfTooManyThoseThatFinishedFirstGoFirst) {
  Rig rig(Keep(absl::InfiniteDuration(), 2));
  const auto late = rig.Submit(Spec())->job->id;
  const auto first = Finished(rig);
  rig.Pass(absl::Seconds(1));
  const auto second = Finished(rig);
  rig.Pass(absl::Seconds(1));
  ASSERT_TRUE(rig.Cancel(late).ok());
  rig.Pass(absl::Minutes(6));
  EXPECT_FALSE(IsKept(rig, first)) << "submitted after one that is kept";
  EXPECT_TRUE(IsKept(rig, second));
  EXPECT_TRUE(IsKept(rig, late));
}

TEST(CoreRetentionTest, NoneOfTooManyGoesBeforeItsSubmitterCouldLook) {
  Rig rig(Keep(absl::InfiniteDuration(), 0));
  const auto id = Finished(rig, "r");
  rig.Pass(absl::Minutes(4));
  EXPECT_EQ(rig.Submit(Spec(), "r")->job->id, id);
  rig.Pass(absl::Minutes(2));
  EXPECT_FALSE(IsKept(rig, id));
}

TEST(CoreRetentionTest, OneTurnRemovesAFewAndTheNextComesSoon) {
  Rig rig(Keep(absl::Minutes(5)));
  for (int i = 0; i < 100; ++i) Finished(rig);
  const auto kept = [&] {
    return rig.board().GetStats().jobs.at(JobState::kCancelled);
  };
  ASSERT_EQ(kept(), 100);
  rig.clock().Advance(absl::Minutes(6));
  int num_turns = 0;
  for (int64_t before = kept(); before > 0; before = kept(), ++num_turns) {
    ASSERT_LT(num_turns, 50);
    rig.core().BeginTurn();
    const auto next = rig.core().Settle();
    EXPECT_LE(before - kept(), 32) << "commands wait behind one step at most";
    if (kept() > 0) {
      EXPECT_LE(next - rig.clock().Steady(), absl::Milliseconds(50));
    }
    rig.clock().Advance(absl::Milliseconds(50));
  }
  EXPECT_LT(num_turns, 10);
}

TEST(CoreRetentionTest, EventsAreSweptStepByStepUntilNoneIsLeft) {
  Rig rig(Keep(absl::Minutes(5)));
  rig.Turn();
  const auto id = Finished(rig);
  const int before = rig.store().num_sweeps();
  rig.Pass(absl::Minutes(1));
  EXPECT_EQ(rig.store().num_sweeps(), before) << "nothing is gone";
  rig.store().SetStepsToSweep(3);
  ASSERT_TRUE(rig.Delete(id).ok());
  rig.Pass(absl::Minutes(1));
  EXPECT_EQ(rig.store().num_sweeps(), before + 3);
  rig.Restart();
  EXPECT_EQ(rig.store().num_sweeps(), before + 4)
      << "what a crash may have left is looked for";
}

TEST(CoreRetentionTest, WhoWatchesIsWokenAndTold) {
  Rig rig(Keep(absl::Hours(1)));
  const auto id = Finished(rig);
  rig.Pass(absl::Minutes(59));
  int num_wakes = 0;
  const auto watch = rig.board().WatchJob(id, [&] { ++num_wakes; });
  ASSERT_TRUE(watch.ok());
  rig.Pass(absl::Minutes(2));
  EXPECT_EQ(num_wakes, 1);
  EXPECT_EQ(rig.board().WatchJob(id, [] {}).status().code(), Code::kNotFound);
}

TEST(CoreRetentionTest, WhatElseIsKeptOfAJobIsTold) {
  std::vector<job::JobId> told;
  Options options = Keep(absl::Hours(1));
  options.on_removed = [&](const std::vector<job::JobId>& jobs) {
    told.insert(told.end(), jobs.begin(), jobs.end());
  };
  Rig rig(std::move(options));
  const auto old = Finished(rig);
  const auto asked = Finished(rig);
  ASSERT_TRUE(rig.Delete(asked).ok());
  rig.Pass(absl::Minutes(61));
  EXPECT_EQ(told, (std::vector<job::JobId>{asked, old}));
  EXPECT_EQ(rig.board().GetStats().num_removed_jobs, 1) << "by age";
}

TEST(CoreRetentionTest, AFullStoreRemovesNothingAndLosesNothing) {
  Rig rig(Keep(absl::Hours(1)));
  const auto id = Finished(rig);
  rig.store().FailWith(absl::ResourceExhaustedError("disk full"));
  rig.Pass(absl::Hours(2));
  EXPECT_TRUE(IsKept(rig, id));
  EXPECT_EQ(rig.board().GetStats().jobs.at(JobState::kCancelled), 1);
  rig.store().FailWith(absl::OkStatus());
  rig.Pass(absl::Seconds(5));
  EXPECT_FALSE(IsKept(rig, id));
  EXPECT_TRUE(rig.fatal().ok());
}

TEST(CoreRetentionTest, ADeletionInTheSameTurnIsCountedOnce) {
  Rig rig(Keep(absl::Hours(1)));
  const auto id = Finished(rig);
  rig.clock().Advance(absl::Hours(2));
  EXPECT_TRUE(rig.Delete(id).ok());
  rig.Pass(absl::Seconds(5));
  const Stats stats = rig.board().GetStats();
  EXPECT_EQ(stats.jobs.at(JobState::kCancelled), 0);
  EXPECT_EQ(stats.num_removed_jobs, 0);
}

}  // namespace
}  // namespace epochd::control
