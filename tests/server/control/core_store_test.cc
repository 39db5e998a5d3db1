// SPDX-License-Identifier: Apache-2.0
//
// A store that is full or broken.
#include <gtest/gtest.h>

#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using job::AttemptReason;
using job::AttemptState;
using job::JobState;
using Code = absl::StatusCode;

const absl::Status& Full() {
  static const auto& status =
      *new absl::Status(absl::ResourceExhaustedError("disk full"));
  return status;
}

TEST(CoreStoreTest, WhatCannotBeStoredDidNotHappen) {
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 1).ok());
  rig.store().FailWith(Full());
  EXPECT_EQ(rig.Submit(Spec(), "r").status().code(), Code::kResourceExhausted);
  EXPECT_EQ(rig.board().GetStats().jobs[JobState::kQueued], 0);
  EXPECT_TRUE(rig.Desired("a")->attempts.empty());
  EXPECT_TRUE(rig.fatal().ok());
  rig.store().FailWith(absl::OkStatus());
  const auto job = rig.Submit(Spec(), "r");
  ASSERT_TRUE(job.ok()) << job.status();
  // There is room again, so the next turn is due at once.
  rig.Turn();
  EXPECT_EQ(rig.State(job->job->id), JobState::kStarting);
}

TEST(CoreStoreTest, ARefusalThatRestsOnWhatWasDroppedIsNotTold) {
  Rig rig;
  const auto id = rig.Submit(Spec())->job->id;
  ASSERT_TRUE(rig.Cancel(id).ok());
  rig.store().FailWith(Full());
  std::vector<absl::Status> told;
  rig.core().BeginTurn();
  // The second finds the job deleted by the first, which then is not.
  for (int i = 0; i < 2; ++i) {
    rig.core().Delete(id, "", [&](absl::Status one) { told.push_back(one); });
  }
  rig.core().Submit(Spec(1), "r", [&](absl::StatusOr<JobView> one) {
    told.push_back(one.status());
  });
  // So does a submit with the name of one that is not made.
  rig.core().Submit(Spec(2), "r", [&](absl::StatusOr<JobView> one) {
    told.push_back(one.status());
  });
  rig.core().Settle();
  ASSERT_EQ(told.size(), 4u);
  for (const absl::Status& one : told) {
    EXPECT_EQ(one.code(), Code::kResourceExhausted) << one;
  }
  EXPECT_EQ(rig.State(id), JobState::kCancelled);
  rig.store().FailWith(absl::OkStatus());
  EXPECT_TRUE(rig.Delete(id).ok());
  EXPECT_EQ(rig.Delete(id).code(), Code::kNotFound);
}

TEST(CoreStoreTest, HeartbeatsGoOnWhileTheStoreIsFull) {
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 1).ok());
  const auto id = rig.Submit(Spec())->job->id;
  const job::AttemptId attempt{id, job::AttemptNumber(1)};
  rig.store().FailWith(Full());
  for (int i = 0; i < 200; ++i) {
    rig.clock().Advance(absl::Seconds(1));
    const auto desired = rig.Beat("a", {Seen(attempt, AttemptState::kRunning)});
    ASSERT_TRUE(desired.ok());
    ASSERT_EQ((*desired)->attempts.size(), 1u);
  }
  EXPECT_EQ(rig.State(id), JobState::kStarting);
  EXPECT_EQ(rig.board().GetWorker(job::WorkerId("a"))->state,
            fleet::WorkerState::kReady);
  // Makes up for it by itself once there is room.
  rig.store().FailWith(absl::OkStatus());
  rig.Pass(absl::Seconds(2));
  EXPECT_EQ(rig.State(id), JobState::kRunning);
}

TEST(CoreStoreTest, DevicesComeBackAfterAFailedWrite) {  // P-64
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 1).ok());
  const auto id = rig.Submit(Spec())->job->id;
  const job::AttemptId attempt{id, job::AttemptNumber(1)};
  rig.store().FailWith(Full());
  ASSERT_TRUE(rig.Beat("a", {Seen(attempt, AttemptState::kEnded,
                                  AttemptReason::kCompleted)})
                  .ok());
  EXPECT_EQ(rig.State(id), JobState::kStarting);
  rig.store().FailWith(absl::OkStatus());
  rig.Pass(absl::Seconds(2));
  EXPECT_EQ(rig.State(id), JobState::kSucceeded);
  EXPECT_EQ(rig.State(rig.Submit(Spec())->job->id), JobState::kStarting);
}

TEST(CoreStoreTest, LinesThatCouldNotBeStoredAreAskedForAgain) {
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 1).ok());
  const job::AttemptId attempt{rig.Submit(Spec())->job->id,
                               job::AttemptNumber(1)};
  const std::string line = "{\"type\":\"epoch_started\",\"epoch\":1}\n";
  rig.store().FailWith(Full());
  EXPECT_EQ(rig.Report("a", attempt, 0, line).status().code(),
            Code::kResourceExhausted);
  rig.store().FailWith(absl::OkStatus());
  EXPECT_EQ(*rig.Report("a", attempt, 50, line), 0);
  EXPECT_EQ(*rig.Report("a", attempt, 0, line),
            static_cast<int64_t>(line.size()));
}

TEST(CoreStoreTest, ABrokenStoreEndsTheProcessNotTheTruth) {
  Rig rig;
  const auto id = rig.Submit(Spec())->job->id;
  rig.store().FailWith(absl::InternalError("fsync"));
  EXPECT_EQ(rig.Cancel(id).status().code(), Code::kInternal);
  EXPECT_EQ(rig.fatal().code(), Code::kInternal);
  // Nothing is acknowledged any more, even if writing seems to work again.
  rig.store().FailWith(absl::OkStatus());
  EXPECT_EQ(rig.Submit(Spec()).status().code(), Code::kUnavailable);
  rig.Restart();
  EXPECT_EQ(rig.State(id), JobState::kQueued);
}

TEST(CoreStoreTest, ARegistrationThatCouldNotBeStoredIsStoredWithTheNextTry) {
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 1, "old").ok());
  rig.store().FailWith(Full());
  EXPECT_EQ(rig.Register("a", 1, "new").status().code(),
            Code::kResourceExhausted);
  rig.store().FailWith(absl::OkStatus());
  ASSERT_TRUE(rig.Register("a", 1, "new").ok());
  rig.Restart();
  EXPECT_TRUE(rig.Beat("a", {}, "new").ok());
}

TEST(CoreStoreTest, ANewBootIsNotStoredWithoutTheEndOfWhatRanBefore) {
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 1, "1", "boot").ok());
  const job::AttemptId attempt{rig.Submit(Spec())->job->id,
                               job::AttemptNumber(1)};
  ASSERT_TRUE(rig.Beat("a", {Seen(attempt, AttemptState::kStarting)}).ok());
  rig.store().FailWith(Full());
  EXPECT_FALSE(rig.Register("a", 1, "2", "another").ok());
  rig.store().FailWith(absl::OkStatus());
  ASSERT_TRUE(rig.Register("a", 1, "2", "another").ok());
  rig.Restart();
  // The new boot must not start the old attempt once more.
  EXPECT_EQ(rig.View(attempt.job).job->LiveAttempt(), nullptr);
  EXPECT_TRUE((*rig.Beat("a", {}, "2"))->attempts.empty());
}

TEST(CoreStoreTest, ADrainThatCouldNotBeStoredIsTakenBack) {
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 1).ok());
  rig.store().FailWith(Full());
  EXPECT_EQ(
      rig.Ask<fleet::WorkerView>([&](Core& core, Done<fleet::WorkerView> done) {
           core.DrainWorker(job::WorkerId("a"), false, std::move(done));
         })
          .status()
          .code(),
      Code::kResourceExhausted);
  rig.store().FailWith(absl::OkStatus());
  EXPECT_EQ(rig.board().GetWorker(job::WorkerId("a"))->state,
            fleet::WorkerState::kReady);
}

TEST(CoreStoreTest, RestartWithJobsInAllStatesKeepsEachAsItWas) {  // P-08, P-10
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 2).ok());
  std::vector<job::JobId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(rig.Submit(Spec())->job->id);
  const auto attempt = [&](int i) {
    return job::AttemptId{ids[i], job::AttemptNumber(1)};
  };
  ASSERT_TRUE(
      rig.Beat(
             "a",
             {Seen(attempt(0), AttemptState::kEnded, AttemptReason::kCompleted),
              Seen(attempt(1), AttemptState::kEnded, AttemptReason::kBadSpec)})
          .ok());
  ASSERT_TRUE(rig.Beat("a", {Seen(attempt(2), AttemptState::kRunning)}).ok());
  ASSERT_TRUE(rig.Cancel(ids[3]).ok());
  ASSERT_TRUE(rig.Cancel(ids[5]).ok());
  std::vector<JobState> before;
  for (const auto id : ids) before.push_back(rig.State(id));
  EXPECT_EQ(before,
            (std::vector<JobState>{JobState::kSucceeded, JobState::kFailed,
                                   JobState::kRunning, JobState::kStopping,
                                   JobState::kQueued, JobState::kCancelled}));
  const auto jobs = rig.board().GetStats().jobs;
  rig.Restart();
  for (size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(rig.State(ids[i]), before[i]);
  EXPECT_EQ(rig.board().GetStats().jobs, jobs);
  EXPECT_EQ(rig.board().GetStats().devices[job::DeviceKind::kCpu].held, 2);
}

TEST(CoreStoreTest, AFullStoreIsShownAndShownToBeOverByItself) {
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 1).ok());
  EXPECT_TRUE(rig.board().StoreStatus().ok());
  rig.store().FailWith(Full());
  EXPECT_EQ(rig.Submit(Spec()).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(rig.board().StoreStatus().code(), Code::kResourceExhausted);
  // Nobody asks for anything meanwhile, and it stays full.
  rig.Pass(absl::Seconds(5));
  EXPECT_EQ(rig.board().StoreStatus().code(), Code::kResourceExhausted);
  EXPECT_TRUE(rig.fatal().ok());
  rig.store().FailWith(absl::OkStatus());
  rig.Pass(absl::Seconds(2));
  EXPECT_TRUE(rig.board().StoreStatus().ok());
  EXPECT_TRUE(rig.Submit(Spec()).ok());
}

}  // namespace
}  // namespace epochd::control
