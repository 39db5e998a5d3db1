// SPDX-License-Identifier: Apache-2.0
#include "server/control/attempt_watch.h"

#include <gtest/gtest.h>

#include "worker/link/exit_code.h"

namespace epochd::control {
namespace {

using job::AttemptReason;
using job::AttemptState;

constexpr absl::Duration kDrain = absl::Minutes(1);

class AttemptWatchTest : public testing::Test {
 protected:
  AttemptWatchTest() {
    attempt_.number = job::AttemptNumber(1);
    attempt_.state = AttemptState::kAssigned;
    for (int i = 0; i < 2; ++i) {
      job::RankPlacement rank;
      rank.rank = i;
      rank.worker = job::WorkerId(i == 0 ? "a" : "b");
      rank.devices = {"cpu:0"};
      attempt_.ranks.push_back(rank);
    }
    watch_ = AttemptWatch(attempt_);
  }

  ObservedAttempt Report(AttemptState state,
                         AttemptReason reason = AttemptReason::kUnspecified,
                         bool drained = true) {
    ObservedAttempt observed;
    observed.attempt = {job::JobId(0, 1), attempt_.number};
    observed.state = state;
    observed.reason = reason;
    observed.drained = drained && state == AttemptState::kEnded;
    return observed;
  }
  ObservedAttempt Exited(int rank, int code) {
    auto observed = Report(AttemptState::kRunning);
    observed.ranks = {{rank, false, code, {}}};
    return observed;
  }
  bool See(const char* worker, const ObservedAttempt& observed) {
    return watch_.Observe(job::WorkerId(worker), observed, now_);
  }
  // Follows Next as the journal would; returns the state it comes to rest in.
  AttemptState Follow() {
    while (auto next = watch_.Next(attempt_, now_, kDrain)) {
      attempt_.state = next->state;
      attempt_.reason = next->reason;
      attempt_.message = next->message;
      if (!next->ranks.empty()) attempt_.ranks = next->ranks;
      if (next->state == AttemptState::kEnded) break;
    }
    return attempt_.state;
  }

  job::Attempt attempt_;
  AttemptWatch watch_;
  fleet::SteadyTime now_{absl::Seconds(50)};
};

TEST_F(AttemptWatchTest, StartsWithTheFirstAndRunsWithTheLastWorker) {
  EXPECT_EQ(Follow(), AttemptState::kAssigned);
  See("a", Report(AttemptState::kStarting));
  EXPECT_EQ(Follow(), AttemptState::kStarting);
  See("a", Report(AttemptState::kRunning));
  EXPECT_EQ(Follow(), AttemptState::kStarting);
  See("b", Report(AttemptState::kRunning));
  EXPECT_EQ(Follow(), AttemptState::kRunning);
}

TEST_F(AttemptWatchTest, EndsOnlyWhenAllRanksEnded) {  // P-123
  See("a", Report(AttemptState::kRunning));
  See("b", Report(AttemptState::kRunning));
  EXPECT_EQ(Follow(), AttemptState::kRunning);
  See("a", Report(AttemptState::kEnded, AttemptReason::kCompleted));
  EXPECT_EQ(Follow(), AttemptState::kRunning);
  See("b", Report(AttemptState::kEnded, AttemptReason::kCompleted));
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_EQ(attempt_.reason, AttemptReason::kCompleted);
}

TEST_F(AttemptWatchTest, AFailingWorkerStopsTheOthersAndIsTheCause) {
  See("a", Report(AttemptState::kRunning));
  See("b", Report(AttemptState::kEnded, AttemptReason::kOomHost));
  EXPECT_EQ(Follow(), AttemptState::kStopping);
  EXPECT_EQ(attempt_.reason, AttemptReason::kOomHost);
  See("a", Report(AttemptState::kEnded, AttemptReason::kTrainingFailed));
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_EQ(attempt_.reason, AttemptReason::kOomHost);
}

TEST_F(AttemptWatchTest, AnExitCodeStopsTheOthersBeforeTheAgentSaysMore) {
  See("a", Report(AttemptState::kRunning));
  See("b", Exited(1, 1));
  EXPECT_EQ(Follow(), AttemptState::kStopping);
  EXPECT_EQ(attempt_.reason, AttemptReason::kRankLost);
  EXPECT_EQ(attempt_.message, "rank 1 on b exited with code 1");
  auto ended = Report(AttemptState::kEnded, AttemptReason::kHang);
  ended.ranks = {{1, false, 1, {}}};
  See("b", ended);
  See("a", Report(AttemptState::kEnded, AttemptReason::kCancelled));
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_EQ(attempt_.reason, AttemptReason::kHang);
  EXPECT_EQ(attempt_.ranks[1].exit_code, 1);
  EXPECT_EQ(attempt_.ranks[0].exit_code, std::nullopt);
}

TEST_F(AttemptWatchTest, ExitCodesHaveTheirMeaning) {
  const std::pair<int, AttemptReason> kRows[] = {
      {link::kTrainingFailed, AttemptReason::kTrainingFailed},
      {link::kInfrastructure, AttemptReason::kRankLost},
      {link::kStoppedWithCheckpoint, AttemptReason::kStoppedWithCheckpoint},
      {link::kSelfFenced, AttemptReason::kWorkerLost},
      {link::kBadSpec, AttemptReason::kBadSpec},
      {137, AttemptReason::kRankLost}};
  for (const auto& [code, reason] : kRows) {
    watch_ = AttemptWatch(attempt_);
    attempt_.state = AttemptState::kAssigned;
    See("a", Exited(0, code));
    EXPECT_EQ(Follow(), AttemptState::kStopping);
    EXPECT_EQ(attempt_.reason, reason) << code;
  }
}

TEST_F(AttemptWatchTest, WhoDiedIsTheCauseAndNotWhoSawItFirst) {  // P-123
  See("a", Report(AttemptState::kRunning));
  auto survivor = Report(AttemptState::kStopping, AttemptReason::kRankLost);
  survivor.message = "rank 0: exit code 71: connection closed by peer";
  survivor.lost_peers = true;
  See("a", survivor);
  EXPECT_EQ(Follow(), AttemptState::kStopping);
  EXPECT_EQ(attempt_.message, survivor.message);
  auto died = Report(AttemptState::kEnded, AttemptReason::kRankLost);
  died.message = "rank 1: killed by signal 9 (SIGKILL)";
  See("b", died);
  survivor.state = AttemptState::kEnded;
  survivor.drained = true;
  See("a", survivor);
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_EQ(attempt_.reason, AttemptReason::kRankLost);
  EXPECT_EQ(attempt_.message, died.message);
}

TEST_F(AttemptWatchTest, ALostWorkerIsTheCauseOverRanksThatLostTheirPeer) {
  See("a", Report(AttemptState::kRunning));
  See("b", Report(AttemptState::kRunning));
  EXPECT_EQ(Follow(), AttemptState::kRunning);
  auto survivor = Report(AttemptState::kEnded, AttemptReason::kRankLost);
  survivor.message = "rank 0: exit code 71: connection closed by peer";
  survivor.lost_peers = true;
  See("a", survivor);
  EXPECT_EQ(Follow(), AttemptState::kStopping);
  watch_.MarkGone(job::WorkerId("b"), "b was silent for 2m");
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_EQ(attempt_.reason, AttemptReason::kWorkerLost);
  EXPECT_EQ(attempt_.message, "b was silent for 2m");
}

TEST_F(AttemptWatchTest, WhoEndedItAsToldDoesNotExplainTheEnd) {
  See("a", Report(AttemptState::kRunning));
  auto survivor = Report(AttemptState::kEnded, AttemptReason::kRankLost);
  survivor.message = "rank 0: exit code 71: timed out";
  survivor.lost_peers = true;
  See("a", survivor);
  EXPECT_EQ(Follow(), AttemptState::kStopping);
  See("b", Report(AttemptState::kEnded, AttemptReason::kRankLost));
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_EQ(attempt_.message, survivor.message);
}

TEST_F(AttemptWatchTest, AnExitOfZeroStopsNobody) {
  See("a", Exited(0, 0));
  See("b", Report(AttemptState::kRunning));
  EXPECT_EQ(Follow(), AttemptState::kRunning);
}

TEST_F(AttemptWatchTest, WaitsForLinesUntilTheDeadline) {  // P-75
  See("a", Report(AttemptState::kEnded, AttemptReason::kCompleted));
  See("b", Report(AttemptState::kEnded, AttemptReason::kCompleted, false));
  EXPECT_NE(Follow(), AttemptState::kEnded);
  EXPECT_EQ(watch_.NextDeadline(kDrain), now_ + kDrain);
  now_ += kDrain - absl::Seconds(1);
  EXPECT_NE(Follow(), AttemptState::kEnded);
  now_ += absl::Seconds(1);
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_EQ(attempt_.reason, AttemptReason::kCompleted);
  EXPECT_EQ(watch_.MissingFrom(),
            std::vector<job::WorkerId>{job::WorkerId("b")});
}

TEST_F(AttemptWatchTest, WaitsForLinesAsLongAsTheyKeepComing) {  // P-75
  See("a", Report(AttemptState::kEnded, AttemptReason::kCompleted));
  auto draining =
      Report(AttemptState::kEnded, AttemptReason::kCompleted, false);
  for (int i = 0; i < 10; ++i) {
    draining.acknowledged_bytes += 1000;
    EXPECT_TRUE(See("b", draining));
    now_ += kDrain - absl::Seconds(1);
    EXPECT_NE(Follow(), AttemptState::kEnded) << i;
  }
  See("b", Report(AttemptState::kEnded, AttemptReason::kCompleted));
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_TRUE(watch_.MissingFrom().empty());
}

TEST_F(AttemptWatchTest, AnOrphanEndsTheAttemptButNotBeforeItsLease) {
  See("a", Report(AttemptState::kRunning));
  See("b", Report(AttemptState::kRunning));
  EXPECT_EQ(Follow(), AttemptState::kRunning);
  const job::WorkerId b("b");
  EXPECT_TRUE(watch_.Orphan(b, "another folder", now_));
  EXPECT_FALSE(watch_.Orphan(b, "again", now_ + absl::Seconds(9)));
  EXPECT_EQ(Follow(), AttemptState::kStopping);
  EXPECT_EQ(attempt_.reason, AttemptReason::kWorkerLost);
  See("a", Report(AttemptState::kEnded, AttemptReason::kCancelled));
  now_ += absl::Seconds(9);
  EXPECT_EQ(Follow(), AttemptState::kStopping);
  EXPECT_FALSE(watch_.IsOrphanedFor(b, absl::Seconds(10), now_));
  now_ += absl::Seconds(1);
  EXPECT_TRUE(watch_.IsOrphanedFor(b, absl::Seconds(10), now_));
  watch_.MarkGone(b, "over");
  EXPECT_EQ(Follow(), AttemptState::kEnded);
}

TEST_F(AttemptWatchTest, WhatHadEndedBeforeLeavesNoOrphan) {
  See("b", Report(AttemptState::kEnded, AttemptReason::kCompleted, false));
  EXPECT_TRUE(watch_.Orphan(job::WorkerId("b"), "another folder", now_));
  EXPECT_TRUE(watch_.IsGoneOn(job::WorkerId("b")));
}

TEST_F(AttemptWatchTest, StartsOnceEveryWorkerIsReady) {
  EXPECT_FALSE(watch_.MayStart(attempt_));
  auto ready = Report(AttemptState::kStarting);
  ready.ready = true;
  See("a", ready);
  See("b", Report(AttemptState::kStarting));
  EXPECT_FALSE(watch_.MayStart(attempt_));
  EXPECT_TRUE(See("b", ready));
  EXPECT_TRUE(watch_.MayStart(attempt_));
  attempt_.ranks.pop_back();
  watch_ = AttemptWatch(attempt_);
  EXPECT_TRUE(watch_.MayStart(attempt_)) << "on one worker";
}

TEST_F(AttemptWatchTest, AGoneWorkerIsOverAtOnce) {
  See("a", Report(AttemptState::kRunning));
  EXPECT_TRUE(watch_.MarkGone(job::WorkerId("b"), "b was restarted"));
  EXPECT_FALSE(watch_.MarkGone(job::WorkerId("b"), "again"));
  EXPECT_EQ(Follow(), AttemptState::kStopping);
  EXPECT_EQ(attempt_.reason, AttemptReason::kWorkerLost);
  // It cannot come back to life.
  EXPECT_FALSE(See("b", Report(AttemptState::kRunning)));
  See("a", Report(AttemptState::kEnded, AttemptReason::kCancelled));
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_EQ(attempt_.message, "b was restarted");
}

TEST_F(AttemptWatchTest, AbsenceCountsOnlyAfterPresence) {  // P-04
  EXPECT_FALSE(watch_.ObserveAbsent(job::WorkerId("a")));
  See("a", Report(AttemptState::kStarting));
  EXPECT_TRUE(watch_.ObserveAbsent(job::WorkerId("a")));
  EXPECT_EQ(Follow(), AttemptState::kStopping);
  EXPECT_EQ(attempt_.reason, AttemptReason::kWorkerLost);
}

TEST_F(AttemptWatchTest, AfterARestartAnAttemptThatRanWasPresentEverywhere) {
  attempt_.state = AttemptState::kRunning;
  attempt_.start_time = absl::Now();
  watch_ = AttemptWatch(attempt_);
  EXPECT_EQ(Follow(), AttemptState::kRunning);
  EXPECT_TRUE(watch_.ObserveAbsent(job::WorkerId("a")));
}

TEST_F(AttemptWatchTest, StatesDoNotGoBack) {
  See("a", Report(AttemptState::kEnded, AttemptReason::kCompleted));
  EXPECT_FALSE(See("a", Report(AttemptState::kRunning)));
  EXPECT_TRUE(watch_.IsOverOn(job::WorkerId("a")));
}

TEST_F(AttemptWatchTest, AStopThatWasAskedForKeepsItsReason) {
  See("a", Report(AttemptState::kRunning));
  See("b", Report(AttemptState::kRunning));
  attempt_.state = AttemptState::kStopping;
  attempt_.reason = AttemptReason::kCancelled;
  See("a", Report(AttemptState::kEnded, AttemptReason::kRankLost));
  See("b", Report(AttemptState::kEnded, AttemptReason::kTrainingFailed));
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_EQ(attempt_.reason, AttemptReason::kCancelled);
}

TEST_F(AttemptWatchTest, TrainingThatWasDoneBeforeTheStopIsDone) {
  attempt_.state = AttemptState::kStopping;
  attempt_.reason = AttemptReason::kCancelled;
  See("a", Report(AttemptState::kEnded, AttemptReason::kCompleted));
  See("b", Report(AttemptState::kEnded, AttemptReason::kCompleted));
  EXPECT_EQ(Follow(), AttemptState::kEnded);
  EXPECT_EQ(attempt_.reason, AttemptReason::kCompleted);
}

TEST_F(AttemptWatchTest, RemembersTheRendezvous) {
  auto running = Report(AttemptState::kStarting);
  running.rendezvous = "h:1";
  See("a", running);
  See("b", Report(AttemptState::kRunning));
  EXPECT_EQ(watch_.rendezvous(), "h:1");
}

}  // namespace
}  // namespace epochd::control
