// SPDX-License-Identifier: Apache-2.0
//
// What the core does with attempts that run: watches, stops, hands over and
// removes them.
#include "worker/agent/agent_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>

#include "tests/worker/agent/agent_core_fixture.h"

namespace epochd::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using RankPhase = process::RankStatus::Phase;

TEST_F(AgentCoreTest, ASilentTrainerHangs) {  // P-115
  DesiredAttempt wanted = Wanted("a", 2, 2);
  wanted.spec.hang_after = 60;
  Want({wanted});
  Step(absl::Seconds(59));
  Append(link::EventsPath(RankDir(0)), "{}\n");
  Step(absl::Seconds(59));
  EXPECT_EQ(Observed().state, AttemptState::kRunning);
  // What libraries print, and what another rank says, is no sign of life.
  Append(link::LogPath(RankDir(0)), "waiting\n");
  Append(link::EventsPath(RankDir(1)), "{}\n");
  Step(absl::Seconds(61));
  EXPECT_EQ(Observed().state, AttemptState::kStopping);
  EXPECT_EQ(Observed().reason, AttemptReason::kHang);
  EXPECT_EQ(Observed().message,
            "job a attempt 1 on host-a rank 0: hangs, it gave no sign of life "
            "for 1m (limits.hang_after); stacks of its ranks are in their "
            "logs");
  EXPECT_THAT(runner_.names_sent, testing::ElementsAre("stacks", "stacks"));
  EXPECT_EQ(runner_.stopped.size(), 2U);
  for (const int rank : {0, 1}) runner_.End(RankDir(rank), 75);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kHang);
}

TEST_F(AgentCoreTest, ACommandThatPrintsLives) {
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.spec.experiment_json.clear();
  wanted.spec.command = {"train"};
  wanted.spec.hang_after = 60;
  Want({wanted});
  for (int i = 0; i < 5; ++i) {
    Step(absl::Seconds(40));
    Append(link::LogPath(RankDir(0)), "step\n");
    Step();
  }
  EXPECT_EQ(Observed().state, AttemptState::kRunning);
  Step(absl::Seconds(61));
  EXPECT_EQ(Observed().reason, AttemptReason::kHang);
  EXPECT_THAT(runner_.names_sent, IsEmpty());
}

TEST_F(AgentCoreTest, OnlyTheAgentOfRankZeroCallsItAHang) {
  DesiredAttempt wanted = Wanted("a", 1, 2, /*first_rank=*/1);
  wanted.spec.rendezvous = "node-b:1";
  wanted.spec.hang_after = 60;
  Want({wanted});
  Step(absl::Hours(1));
  EXPECT_EQ(Observed().state, AttemptState::kRunning);
  wanted.run = false;
  wanted.stop_reason = AttemptReason::kHang;
  Want({wanted});
  EXPECT_THAT(runner_.names_sent, testing::ElementsAre("stacks"));
}

TEST_F(AgentCoreTest, TheHangLimitIsKnownAfterARestart) {
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.spec.hang_after = 60;
  Want({wanted});
  Restart();
  Step(absl::Seconds(1));
  Step(absl::Seconds(61));
  EXPECT_EQ(Observed().reason, AttemptReason::kHang);
}

TEST_F(AgentCoreTest, AnAttemptWhoseLinesNobodyTakesIsEndedAndSaysWhy) {
  Want({Wanted("a", 1, 1)});
  core_->SpoolBroken("jobs/a/attempts/1", "rank 0: log is not taken", false);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kRunning);
  EXPECT_THAT(Observed().problems,
              testing::ElementsAre(HasSubstr("log is not taken")));
  core_->SpoolBroken("jobs/a/attempts/1", "rank 0: events.jsonl was cut", true);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kStopping);
  EXPECT_EQ(Observed().reason, AttemptReason::kRankLost);
  EXPECT_THAT(Observed().message, HasSubstr("events.jsonl was cut"));
  EXPECT_EQ(Observed().problems.size(), 2U);
}

TEST_F(AgentCoreTest, TellsHowFarAnEndedAttemptIsHandedIn) {
  Want({Wanted("a", 1, 1)});
  spool_.acknowledged = 5;
  EXPECT_EQ(Observed().acknowledged_bytes, 0);
  runner_.End(RankDir(0), 0);
  Step();
  EXPECT_EQ(Observed().acknowledged_bytes, 5);
}

TEST_F(AgentCoreTest, ANodeThatCannotLoadTheTrainerIsNotABadSpec) {
  Want({Wanted("a", 1, 1)});
  Append(link::LogPath(RankDir(0)), "libtorch.so: cannot open\n");
  runner_.End(RankDir(0), 127);
  Step();
  EXPECT_EQ(Observed().reason, AttemptReason::kStartFailed);
  EXPECT_THAT(Observed().message,
              HasSubstr("exit code 127 (this node cannot load the trainer): "
                        "its log ends with: libtorch.so: cannot open"));
}

TEST_F(AgentCoreTest, EndsCompletedOnlyWhenEveryRankIsDone) {
  Want({Wanted("a", 2, 2)});
  runner_.End(RankDir(1), 0);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kRunning);
  EXPECT_THAT(runner_.stopped, IsEmpty());
  runner_.End(RankDir(0), 0);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kCompleted);
  EXPECT_FALSE(Observed().drained);
  spool_.drained = true;
  EXPECT_TRUE(Observed().drained);
}

// The others may still be saving, for as long as that takes.
TEST_F(AgentCoreTest, ARankThatIsDoneEarlyHurriesNobody) {  // P-118
  Want({Wanted("a", 2, 2), Wanted("b", 2, 2)});
  runner_.End(RankDir(0, "a"), 0);
  runner_.End(RankDir(1, "b"), 0);
  for (int i = 0; i < 60; ++i) Step(absl::Minutes(1));
  EXPECT_THAT(runner_.stopped, IsEmpty());
  EXPECT_THAT(runner_.killed, IsEmpty());
  runner_.End(RankDir(1, "a"), 0);
  runner_.End(RankDir(0, "b"), 0);
  Step();
  EXPECT_EQ(Observed("a").reason, AttemptReason::kCompleted);
  EXPECT_EQ(Observed("b").reason, AttemptReason::kCompleted);
}

TEST_F(AgentCoreTest, AFailingRankStopsTheOthersAndIsNamed) {
  Want({Wanted("a", 2, 2)});
  Append(link::EventsPath(RankDir(1)),
         R"({"type":"notice","severity":"error","text":"loss is NaN"})"
         "\n");
  runner_.End(RankDir(1), 70);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kStopping);
  EXPECT_EQ(Observed().reason, AttemptReason::kTrainingFailed);
  EXPECT_THAT(runner_.stopped, testing::ElementsAre(RankDir(0)));
  runner_.End(RankDir(0), 75);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kTrainingFailed);
  EXPECT_EQ(Observed().message,
            "job a attempt 1 rank 1 on host-a: exit code 70 (training "
            "failed): loss is NaN");
}

TEST_F(AgentCoreTest, StopsWhatIsNotWantedAndReportsTheReason) {
  Want({Wanted("a", 1, 1)});
  DesiredAttempt stop = Wanted("a", 1, 1);
  stop.run = false;
  stop.stop_reason = AttemptReason::kCancelled;
  Want({stop});
  EXPECT_EQ(Observed().state, AttemptState::kStopping);
  EXPECT_THAT(runner_.stopped, testing::ElementsAre(RankDir(0)));
  runner_.End(RankDir(0), 75);
  Step();
  EXPECT_EQ(Observed().reason, AttemptReason::kCancelled);
}

TEST_F(AgentCoreTest, AStopThatOvertakesTheStartIsAnsweredWithEnded) {
  DesiredAttempt stop = Wanted("a", 1, 1);
  stop.run = false;
  stop.stop_reason = AttemptReason::kCancelled;
  Want({stop});
  EXPECT_THAT(runner_.started, IsEmpty());
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kCancelled);
}

TEST_F(AgentCoreTest, CancelWhileWaitingForTheRendezvousStartsNothing) {
  DesiredAttempt wanted = Wanted("a", 1, 2, /*first_rank=*/1);
  Want({wanted});
  wanted.run = false;
  wanted.stop_reason = AttemptReason::kCancelled;
  wanted.spec.rendezvous = "node-b:1";
  Want({wanted});
  EXPECT_THAT(runner_.started, IsEmpty());
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
}

TEST_F(AgentCoreTest, RemovesTheFolderOnceForgottenAndDrained) {
  Want({Wanted("a", 1, 1)});
  runner_.End(RankDir(0), 0);
  Step();
  spool_.drained = true;
  Step();
  EXPECT_TRUE(std::filesystem::exists(AttemptDir()));
  spool_.drained = false;
  Want({});
  EXPECT_TRUE(std::filesystem::exists(AttemptDir()));
  spool_.drained = true;
  Step();
  EXPECT_FALSE(std::filesystem::exists(AttemptDir()));
  ASSERT_EQ(removed_.size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(removed_[0] + "/attempt.json"));
  // What was not deleted is not taken over, but offered for deletion again.
  Restart();
  EXPECT_EQ(removed_.size(), 2U);
  EXPECT_THAT(core_->Observed(), IsEmpty());
  EXPECT_THAT(spool_.removed, testing::ElementsAre("jobs/a/attempts/1"));
}

TEST_F(AgentCoreTest, WhatIsNotListedIsEnded) {
  Want({Wanted("a", 1, 1)});
  Want({});
  EXPECT_THAT(runner_.stopped, testing::ElementsAre(RankDir(0)));
}

TEST_F(AgentCoreTest, KeepsEverythingRunningUntilTheCoordinatorSpoke) {
  Want({Wanted("a", 1, 1)});
  Restart();
  Step();
  EXPECT_THAT(runner_.stopped, IsEmpty());
  EXPECT_EQ(Observed().state, AttemptState::kRunning);
}

TEST_F(AgentCoreTest, IgnoresAnOlderVersionButNotAfterARegistration) {
  Want({Wanted("a", 1, 1)});
  core_->SetDesired({.version = 0, .attempts = {}}, false);
  Step();
  EXPECT_THAT(runner_.stopped, IsEmpty());
  core_->SetDesired({.version = 0, .attempts = {}}, true);
  Step();
  EXPECT_EQ(runner_.stopped.size(), 1U);
}

TEST_F(AgentCoreTest, ARefusedAttemptIsEndedAndCountsAsDrained) {
  Want({Wanted("a", 1, 1)});
  core_->Refuse("jobs/a/attempts/1");
  Step();
  EXPECT_THAT(runner_.stopped, testing::ElementsAre(RankDir(0)));
  runner_.End(RankDir(0), 75);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_TRUE(Observed().drained);
}

TEST_F(AgentCoreTest, RenewsLeasesWhileTheCoordinatorHearsOfUs) {
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.spec.self_fence_after = 96;
  core_->RenewLeases(now_);
  Want({wanted});
  core_->RenewLeases(now_);
  EXPECT_EQ(runner_.sent[RankDir(0)].name, "lease");
  EXPECT_EQ(runner_.sent[RankDir(0)].deadline_ns,
            absl::ToUnixNanos(now_ + absl::Seconds(96)));
  Step(absl::Seconds(95));
  EXPECT_THAT(runner_.killed, IsEmpty());
  core_->RenewLeases(now_);
  Step(absl::Seconds(95));
  EXPECT_THAT(runner_.killed, IsEmpty());
}

TEST_F(AgentCoreTest, TheFirstLeaseCountsFromTheLastWordOfTheCoordinator) {
  core_->RenewLeases(now_);
  const absl::Time renewed = now_;
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.spec.self_fence_after = 96;
  // It was long on its way.
  Step(absl::Seconds(90));
  Want({wanted});
  const auto spec =
      link::FromJson(*link::ReadFile(link::SpecPath(AttemptDir())));
  EXPECT_EQ(spec.lease_end_ns, absl::ToUnixNanos(renewed + absl::Seconds(96)));
  Step(absl::Seconds(7));
  EXPECT_THAT(runner_.killed, testing::ElementsAre(RankDir(0)));
}

TEST_F(AgentCoreTest, NothingStartsUnderALeaseThatIsOver) {
  core_->RenewLeases(now_);
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.spec.self_fence_after = 96;
  Step(absl::Seconds(97));
  Want({wanted});
  EXPECT_THAT(runner_.started, IsEmpty());
  core_->RenewLeases(now_);
  Step();
  EXPECT_EQ(runner_.started.size(), 1U);
}

TEST_F(AgentCoreTest, ALeaseThatEndsWhileFilesAreFetchedStartsNothing) {
  core_->RenewLeases(now_);
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.spec.self_fence_after = 96;
  wanted.files = {{.path = "train.py", .sha256 = "00"}};
  Want({wanted});
  Step(absl::Seconds(97));
  core_->FetchDone("jobs/a/attempts/1", absl::OkStatus());
  Step();
  EXPECT_THAT(runner_.started, IsEmpty());
  EXPECT_EQ(Observed().reason, AttemptReason::kWorkerLost);
}

TEST_F(AgentCoreTest, KillsAtTheEndOfTheLease) {
  core_->RenewLeases(now_);
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.spec.self_fence_after = 96;
  Want({wanted});
  Step(absl::Seconds(97));
  EXPECT_THAT(runner_.killed, testing::ElementsAre(RankDir(0)));
  runner_.End(RankDir(0), 76);
  Step();
  EXPECT_EQ(Observed().reason, AttemptReason::kWorkerLost);
  EXPECT_THAT(Observed().message, HasSubstr("no word from the coordinator"));
}

TEST_F(AgentCoreTest, TakesOverRunningAndEndedAttempts) {
  Want({Wanted("a", 1, 1), Wanted("b", 1, 1)});
  runner_.End(RankDir(0, "b"), 0);
  Restart();
  Step();
  EXPECT_EQ(Observed("a").state, AttemptState::kRunning);
  EXPECT_EQ(Observed("b").state, AttemptState::kEnded);
  EXPECT_EQ(Observed("b").reason, AttemptReason::kCompleted);
  Want({Wanted("a", 1, 1), Wanted("b", 1, 1)});
  EXPECT_EQ(runner_.started.size(), 2U);
}

TEST_F(AgentCoreTest, AnAttemptThatWasNeverFullyStartedIsLostAfterARestart) {
  Want({Wanted("a", 2, 2)});
  runner_.ranks[RankDir(1)].phase = RankPhase::kAbsent;
  Restart();
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kStarting);
  Step(absl::Seconds(6));
  EXPECT_EQ(Observed().state, AttemptState::kStopping);
  runner_.End(RankDir(0), 75);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kRankLost);
}

TEST_F(AgentCoreTest, AFolderThatNeverBeganIsRemovedAndStartedAnew) {
  std::filesystem::create_directories(AttemptDir() + "/files");
  Append(AttemptDir() + "/files/half", "x");
  Restart();
  EXPECT_FALSE(std::filesystem::exists(AttemptDir()));
  Want({Wanted("a", 1, 1)});
  EXPECT_EQ(runner_.started.size(), 1U);
}

TEST_F(AgentCoreTest, StopAllEndsEverythingAndTakesNothingNewOn) {
  Want({Wanted("a", 1, 1)});
  core_->StopAll();
  Want({Wanted("a", 1, 1), Wanted("b", 1, 1)});
  EXPECT_EQ(runner_.started.size(), 1U);
  EXPECT_EQ(Observed("b").reason, AttemptReason::kWorkerLost);
  runner_.End(RankDir(0), 75);
  Step();
  EXPECT_EQ(Observed().reason, AttemptReason::kStoppedWithCheckpoint);
  EXPECT_FALSE(core_->IsIdle());
  spool_.drained = true;
  EXPECT_TRUE(core_->IsIdle());
}

}  // namespace
}  // namespace epochd::agent
