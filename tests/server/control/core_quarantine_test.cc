// SPDX-License-Identifier: Apache-2.0
//
// A worker on which everything fails is given nothing for a while (P-68).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using fleet::WorkerState;
using job::AttemptReason;
using job::AttemptState;
using job::JobState;
using testing::HasSubstr;

class CoreQuarantineTest : public testing::Test {
 protected:
  explicit CoreQuarantineTest(Options options = {}) : rig_(options) {}

  void SetUp() override {
    ASSERT_TRUE(rig_.Register("a", 1).ok());
    ASSERT_TRUE(rig_.Register("b", 1).ok());
  }
  WorkerState StateOf(const std::string& name) {
    return rig_.board().GetWorker(job::WorkerId(name))->state;
  }
  std::string MessageOf(const std::string& name) {
    return rig_.board().GetWorker(job::WorkerId(name))->message;
  }
  // Submits a job that wants to be tried once, on the worker named.
  job::JobId Start(const std::string& worker) {
    auto spec = Spec();
    spec->restart.max = 0;
    const auto id = rig_.Submit(spec)->job->id;
    const job::Attempt* attempt = rig_.View(id).job->LiveAttempt();
    EXPECT_NE(attempt, nullptr);
    if (attempt != nullptr) {
      EXPECT_EQ(attempt->ranks[0].worker.name(), worker);
    }
    return id;
  }
  void End(const std::string& worker, job::JobId id, AttemptReason reason) {
    const job::AttemptId attempt{id, job::AttemptNumber(1)};
    ASSERT_TRUE(
        rig_.Beat(worker, {Seen(attempt, AttemptState::kRunning)}).ok());
    ASSERT_TRUE(
        rig_.Beat(worker, {Seen(attempt, AttemptState::kEnded, reason)}).ok());
    ASSERT_TRUE(rig_.Beat(worker).ok());
  }
  void Fail(int num_jobs, AttemptReason reason = AttemptReason::kRankLost) {
    for (int i = 0; i < num_jobs; ++i) End("a", Start("a"), reason);
  }
  void PassBeating(absl::Duration duration) {
    for (; duration > absl::ZeroDuration(); duration -= absl::Seconds(5)) {
      rig_.clock().Advance(absl::Seconds(5));
      ASSERT_TRUE(rig_.Beat("a").ok());
      ASSERT_TRUE(rig_.Beat("b").ok());
    }
  }
  absl::StatusOr<fleet::WorkerView> Undrain() {
    return rig_.Ask<fleet::WorkerView>(
        [&](Core& core, Done<fleet::WorkerView> done) {
          core.DrainWorker(job::WorkerId("a"), true, std::move(done));
        });
  }

  Rig rig_;
};

TEST_F(CoreQuarantineTest, JobsGoElsewhereOnceOthersFailedThere) {
  Fail(2);
  EXPECT_EQ(StateOf("a"), WorkerState::kReady);
  const auto last = Start("a");
  End("a", last, AttemptReason::kRankLost);
  EXPECT_EQ(StateOf("a"), WorkerState::kQuarantined);
  EXPECT_THAT(MessageOf("a"), HasSubstr("3 attempts in a row failed there"));
  EXPECT_THAT(MessageOf("a"), HasSubstr("epochctl worker drain a --undo"));
  EXPECT_EQ(rig_.board().GetStats().workers[WorkerState::kQuarantined], 1);
  // The job that brought it about says so.
  int num_notices = 0;
  for (const job::Event& event : rig_.Events(last)) {
    const auto* notice = std::get_if<job::Notice>(&event.body);
    if (notice == nullptr) continue;
    ++num_notices;
    EXPECT_THAT(notice->text, HasSubstr("a is quarantined for 1m"));
    EXPECT_EQ(notice->severity, job::Notice::Severity::kWarning);
  }
  EXPECT_EQ(num_notices, 1);
  Start("b");
  // The next one waits, and says for what.
  const auto waiting = rig_.Submit(Spec())->job->id;
  EXPECT_EQ(rig_.State(waiting), JobState::kQueued);
  EXPECT_THAT(rig_.View(waiting).message, HasSubstr("a is not ready"));
}

TEST_F(CoreQuarantineTest, ItEndsByItselfAndTheNextFailureDoublesIt) {
  Fail(3);
  PassBeating(absl::Seconds(55));
  EXPECT_EQ(StateOf("a"), WorkerState::kQuarantined);
  PassBeating(absl::Seconds(5));
  EXPECT_EQ(StateOf("a"), WorkerState::kReady);
  EXPECT_EQ(MessageOf("a"), "");
  Fail(1);
  EXPECT_EQ(StateOf("a"), WorkerState::kQuarantined);
  PassBeating(absl::Seconds(115));
  EXPECT_EQ(StateOf("a"), WorkerState::kQuarantined);
  PassBeating(absl::Seconds(5));
  EXPECT_EQ(StateOf("a"), WorkerState::kReady);
}

TEST_F(CoreQuarantineTest, AGangThatNeedsItSaysUntilWhenAndOthersPassBy) {
  Fail(3);
  const std::string end = absl::FormatTime(
      "%H:%M:%S", rig_.clock().Wall() + absl::Minutes(1), absl::UTCTimeZone());
  const auto gang = rig_.Submit(Spec(2))->job->id;
  EXPECT_EQ(rig_.View(gang).reason, job::JobReason::kNoFreeDevices);
  EXPECT_EQ(rig_.View(gang).message,
            "needs 2 ranks on cpu, which fit once quarantine ends: a until " +
                end + " UTC");
  const auto small = Start("b");
  End("b", small, AttemptReason::kCompleted);
  PassBeating(absl::Seconds(60));
  EXPECT_EQ(rig_.State(gang), JobState::kStarting);
}

TEST_F(CoreQuarantineTest, WaitingJobsStartWhenItEnds) {
  Fail(3);
  Start("b");
  const auto waiting = rig_.Submit(Spec())->job->id;
  PassBeating(absl::Seconds(60));
  EXPECT_EQ(rig_.State(waiting), JobState::kStarting);
}

TEST_F(CoreQuarantineTest, ASuccessForgetsWhatFailedBefore) {
  Fail(2);
  End("a", Start("a"), AttemptReason::kCompleted);
  Fail(2);
  EXPECT_EQ(StateOf("a"), WorkerState::kReady);
}

TEST_F(CoreQuarantineTest, TakingADrainBackEndsIt) {
  Fail(3);
  const auto worker = Undrain();
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_EQ(worker->state, WorkerState::kReady);
  Start("a");
}

TEST_F(CoreQuarantineTest, WhatIsTheJobsOwnFaultDoesNotCount) {
  Fail(5, AttemptReason::kTrainingFailed);
  Fail(5, AttemptReason::kBadSpec);
  Fail(5, AttemptReason::kOomHost);
  EXPECT_EQ(StateOf("a"), WorkerState::kReady);
}

TEST_F(CoreQuarantineTest, EveryFaultOfAMachineCounts) {
  Fail(1, AttemptReason::kHang);
  Fail(1, AttemptReason::kStartFailed);
  Fail(1, AttemptReason::kRankLost);
  EXPECT_EQ(StateOf("a"), WorkerState::kQuarantined);
}

TEST_F(CoreQuarantineTest, ADropOfTheTransactionTakesTheFailureBack) {
  const auto id = Start("a");
  const job::AttemptId attempt{id, job::AttemptNumber(1)};
  rig_.store().FailWith(absl::ResourceExhaustedError("disk full"));
  // Looked at again and again while the store is full.
  for (int i = 0; i < 10; ++i) {
    rig_.clock().Advance(absl::Seconds(1));
    ASSERT_TRUE(rig_.Beat("b").ok());
    ASSERT_TRUE(rig_.Beat("a", {Seen(attempt, AttemptState::kEnded,
                                     AttemptReason::kRankLost)})
                    .ok());
  }
  rig_.store().FailWith(absl::OkStatus());
  PassBeating(absl::Seconds(5));
  ASSERT_EQ(rig_.State(id), JobState::kFailed);
  Fail(1);
  EXPECT_EQ(StateOf("a"), WorkerState::kReady) << "two failures, not twelve";
  Fail(1);
  EXPECT_EQ(StateOf("a"), WorkerState::kQuarantined);
}

TEST(CoreQuarantineOfAllTest, TheOnlyWorkerIsNotQuarantined) {
  Rig rig;
  ASSERT_TRUE(rig.Register("a", 1).ok());
  for (int i = 0; i < 10; ++i) {
    auto spec = Spec();
    spec->restart.max = 0;
    const auto id = rig.Submit(spec)->job->id;
    const job::AttemptId attempt{id, job::AttemptNumber(1)};
    ASSERT_EQ(rig.State(id), JobState::kStarting) << i;
    ASSERT_TRUE(rig.Beat("a", {Seen(attempt, AttemptState::kEnded,
                                    AttemptReason::kRankLost)})
                    .ok());
    ASSERT_EQ(rig.State(id), JobState::kFailed) << i;
  }
  EXPECT_EQ(rig.board().GetWorker(job::WorkerId("a"))->state,
            WorkerState::kReady);
}

}  // namespace
}  // namespace epochd::control
