// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using job::AttemptReason;
using job::AttemptState;
using job::JobReason;
using job::JobState;

// One job on one worker, in the state that a test begins with.
class CoreAttemptsTest : public testing::Test {
 protected:
  void Begin(std::shared_ptr<const job::JobSpec> spec = Spec()) {
    ASSERT_TRUE(rig_.Register("a", 1).ok());
    const auto job = rig_.Submit(std::move(spec));
    ASSERT_TRUE(job.ok()) << job.status();
    id_ = job->job->id;
    ASSERT_EQ(rig_.State(id_), JobState::kStarting);
  }
  void Run() {
    ASSERT_TRUE(rig_.Beat("a", {Seen(Attempt(), AttemptState::kRunning)}).ok());
    ASSERT_EQ(rig_.State(id_), JobState::kRunning);
  }
  job::AttemptId Attempt() {
    return {id_, rig_.View(id_).job->CurrentAttempt()};
  }
  void End(AttemptReason reason) {
    ASSERT_TRUE(
        rig_.Beat("a", {Seen(Attempt(), AttemptState::kEnded, reason)}).ok());
  }
  int NumTerminalEvents() {
    int number = 0;
    for (const auto& event : rig_.Events(id_)) {
      const auto* body = std::get_if<job::JobStateChanged>(&event.body);
      number += body != nullptr && job::IsTerminal(body->state);
    }
    return number;
  }
  // Keeps the worker's lease alive meanwhile.
  void PassBeating(absl::Duration duration, ObservedAttempt observed) {
    for (; duration > absl::ZeroDuration(); duration -= absl::Seconds(1)) {
      rig_.clock().Advance(absl::Seconds(1));
      ASSERT_TRUE(rig_.Beat("a", {observed}).ok());
    }
  }

  // Until an agent on another work folder gets the name.
  void PassSilently() { rig_.Pass(absl::Seconds(10)); }

  Rig rig_;
  job::JobId id_;
};

TEST_F(CoreAttemptsTest, AJobGoesThroughItsStates) {
  Begin();
  ASSERT_TRUE(rig_.Beat("a", {Seen(Attempt(), AttemptState::kStarting)}).ok());
  EXPECT_EQ(rig_.State(id_), JobState::kStarting);
  Run();
  EXPECT_EQ(rig_.View(id_).reason, JobReason::kTraining);
  End(AttemptReason::kCompleted);
  EXPECT_EQ(rig_.State(id_), JobState::kSucceeded);
  EXPECT_EQ(NumTerminalEvents(), 1);
  EXPECT_TRUE(rig_.Desired("a")->attempts.empty());
  EXPECT_EQ(rig_.board().GetStats().jobs[JobState::kSucceeded], 1);
}

TEST_F(CoreAttemptsTest, ALostRankRestartsAfterABackoff) {
  Begin();
  Run();
  End(AttemptReason::kRankLost);
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
  EXPECT_EQ(rig_.View(id_).reason, JobReason::kRestartBackoff);
  EXPECT_TRUE(rig_.Desired("a")->attempts.empty());
  rig_.clock().Advance(absl::Milliseconds(999));
  rig_.Turn();
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
  rig_.clock().Advance(absl::Milliseconds(1));
  rig_.Turn();
  EXPECT_EQ(rig_.State(id_), JobState::kStarting);
  EXPECT_EQ(Attempt().number, job::AttemptNumber(2));
  EXPECT_EQ(rig_.View(id_).job->num_restarts, 1);
}

TEST_F(CoreAttemptsTest, RestartsEndWhenTheyAreUsedUp) {
  Begin();
  for (int i = 0; i < 3; ++i) {
    End(AttemptReason::kHang);
    ASSERT_EQ(rig_.State(id_), JobState::kQueued) << i;
    PassBeating(absl::Seconds(5), {});
    ASSERT_EQ(rig_.State(id_), JobState::kStarting) << i;
  }
  End(AttemptReason::kHang);
  EXPECT_EQ(rig_.State(id_), JobState::kFailed);
  EXPECT_EQ(rig_.View(id_).reason, JobReason::kRestartsExhausted);
}

TEST_F(CoreAttemptsTest, APlannedStopGoesOnAtOnceAndDoesNotCount) {
  Begin();
  Run();
  End(AttemptReason::kStoppedWithCheckpoint);
  EXPECT_EQ(rig_.State(id_), JobState::kStarting);
  EXPECT_EQ(rig_.View(id_).job->num_restarts, 0);
  EXPECT_EQ(Attempt().number, job::AttemptNumber(2));
}

TEST_F(CoreAttemptsTest, CancelIsDoneOnlyWhenTheAgentSaysSo) {  // P-74g, P-50
  Begin();
  Run();
  EXPECT_EQ(rig_.Cancel(id_)->job->state, JobState::kStopping);
  ASSERT_EQ(rig_.Desired("a")->attempts.size(), 1u);
  EXPECT_FALSE(rig_.Desired("a")->attempts[0].run);
  EXPECT_EQ(rig_.Desired("a")->attempts[0].stop_reason,
            AttemptReason::kCancelled);
  PassBeating(absl::Minutes(10), Seen(Attempt(), AttemptState::kStopping));
  EXPECT_EQ(rig_.State(id_), JobState::kStopping);
  // Its devices are not given away meanwhile.
  EXPECT_EQ(rig_.Submit(Spec())->reason, JobReason::kNoFreeDevices);
  End(AttemptReason::kCancelled);
  EXPECT_EQ(rig_.State(id_), JobState::kCancelled);
  EXPECT_EQ(NumTerminalEvents(), 1);
}

TEST_F(CoreAttemptsTest, CancelInEveryState) {
  for (const AttemptState state :
       {AttemptState::kUnspecified, AttemptState::kStarting,
        AttemptState::kRunning, AttemptState::kEnded}) {
    Rig rig;
    ASSERT_TRUE(rig.Register("a", 1).ok());
    const auto id = rig.Submit(Spec())->job->id;
    const job::AttemptId attempt{id, job::AttemptNumber(1)};
    if (state == AttemptState::kEnded) {
      // Ended, but lines are still to come.
      ASSERT_TRUE(rig.Beat("a", {Seen(attempt, state, AttemptReason::kRankLost,
                                      /*drained=*/false)})
                      .ok());
    } else if (state != AttemptState::kUnspecified) {
      ASSERT_TRUE(rig.Beat("a", {Seen(attempt, state)}).ok());
    }
    EXPECT_EQ(rig.Cancel(id)->job->state, JobState::kStopping) << Name(state);
    ASSERT_TRUE(rig.Beat("a", {Seen(attempt, AttemptState::kEnded,
                                    AttemptReason::kCancelled)})
                    .ok());
    EXPECT_EQ(rig.State(id), JobState::kCancelled) << Name(state);
  }
}

TEST_F(CoreAttemptsTest, CancelSurvivesARestart) {  // P-06
  Begin();
  Run();
  ASSERT_TRUE(rig_.Cancel(id_).ok());
  rig_.Restart();
  EXPECT_EQ(rig_.State(id_), JobState::kStopping);
  ASSERT_EQ(rig_.Desired("a")->attempts.size(), 1u);
  EXPECT_FALSE(rig_.Desired("a")->attempts[0].run);
  End(AttemptReason::kCancelled);
  EXPECT_EQ(rig_.State(id_), JobState::kCancelled);
}

TEST_F(CoreAttemptsTest, CancelOfAJobOnALostWorkerEndsWithItsLease) {  // P-47
  Begin();
  Run();
  ASSERT_TRUE(rig_.Cancel(id_).ok());
  rig_.Pass(absl::Seconds(119));
  EXPECT_EQ(rig_.State(id_), JobState::kStopping);
  rig_.Pass(absl::Seconds(1));
  EXPECT_EQ(rig_.State(id_), JobState::kCancelled);
}

TEST_F(CoreAttemptsTest, TrainingThatWasDoneIsNotCancelled) {
  Begin();
  Run();
  ASSERT_TRUE(rig_.Cancel(id_).ok());
  End(AttemptReason::kCompleted);
  EXPECT_EQ(rig_.State(id_), JobState::kSucceeded);
}

TEST_F(CoreAttemptsTest, UnreachableIsNotFailed) {  // P-13
  Begin();
  Run();
  rig_.Pass(absl::Seconds(10));
  EXPECT_EQ(rig_.State(id_), JobState::kRunning);
  EXPECT_EQ(rig_.View(id_).reason, JobReason::kWorkerUnreachable);
  rig_.Pass(absl::Seconds(100));
  EXPECT_EQ(rig_.State(id_), JobState::kRunning);
  Run();
  EXPECT_EQ(rig_.View(id_).reason, JobReason::kTraining);
  EXPECT_EQ(Attempt().number, job::AttemptNumber(1));
}

TEST_F(CoreAttemptsTest, ALostWorkerIsReplacedAndFenced) {  // P-16, R-13
  Begin();
  Run();
  const job::AttemptId old = Attempt();
  ASSERT_TRUE(rig_.Register("b", 1).ok());
  for (int i = 0; i < 125; ++i) {
    rig_.clock().Advance(absl::Seconds(1));
    ASSERT_TRUE(rig_.Beat("b").ok());
  }
  EXPECT_EQ(rig_.State(id_), JobState::kStarting);
  EXPECT_EQ(Attempt().number, job::AttemptNumber(2));
  EXPECT_EQ(rig_.View(id_).job->attempts[1].ranks[0].worker,
            job::WorkerId("b"));
  EXPECT_EQ(rig_.View(id_).job->attempts[0].reason, AttemptReason::kWorkerLost);
  // The old agent comes back with the old attempt.
  EXPECT_TRUE(
      (*rig_.Beat("a", {Seen(old, AttemptState::kRunning)}))->attempts.empty());
  EXPECT_EQ(
      rig_.Report("a", old, 0, "{\"type\":\"first_step\"}\n").status().code(),
      absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(rig_.State(id_), JobState::kStarting);
  EXPECT_GT(rig_.board().GetStats().num_fenced, 0);
}

TEST_F(CoreAttemptsTest, LinesOfASilentWorkerAreWaitedForWhileItIsNotLost) {
  auto spec = Spec();
  spec->restart.worker_lost_after = absl::Minutes(10);
  Begin(spec);
  const auto ended = [&](bool drained) {
    return Seen(Attempt(), AttemptState::kEnded, AttemptReason::kCompleted,
                drained);
  };
  ASSERT_TRUE(rig_.Beat("a", {ended(false)}).ok());
  rig_.Pass(absl::Minutes(9));
  ASSERT_TRUE(rig_.Beat("a", {ended(false)}).ok());
  EXPECT_FALSE(rig_.View(id_).job->IsTerminal());
  // It can hand them in now, but does not.
  PassBeating(absl::Seconds(61), ended(false));
  EXPECT_EQ(rig_.State(id_), JobState::kSucceeded);
}

TEST_F(CoreAttemptsTest, ANewBootEndsTheOldAttemptAtOnce) {
  Begin();
  Run();
  ASSERT_TRUE(rig_.Register("a", 1, "2", "another boot").ok());
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
  EXPECT_EQ(rig_.View(id_).job->attempts[0].reason, AttemptReason::kWorkerLost);
  EXPECT_TRUE(rig_.Desired("a")->attempts.empty());
}

TEST_F(CoreAttemptsTest, ARestartedAgentAdopts) {
  Begin();
  Run();
  ASSERT_TRUE(rig_.Register("a", 1, "2", "boot",
                            {Seen(Attempt(), AttemptState::kRunning)})
                  .ok());
  EXPECT_EQ(rig_.State(id_), JobState::kRunning);
  EXPECT_EQ(rig_.View(id_).job->num_restarts, 0);
}

TEST_F(CoreAttemptsTest, ARestartedAgentThatLostTheAttemptEndsIt) {  // P-04
  Begin();
  Run();
  ASSERT_TRUE(rig_.Register("a", 1, "2").ok());
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
  EXPECT_EQ(rig_.View(id_).job->attempts[0].reason, AttemptReason::kWorkerLost);
}

TEST_F(CoreAttemptsTest, ARestartedCoordinatorAdopts) {
  Begin();
  Run();
  const auto num_events = rig_.Events(id_).size();
  const int64_t version = rig_.Desired("a")->version;
  rig_.clock().Advance(absl::Minutes(10));
  rig_.Restart();
  EXPECT_EQ(rig_.State(id_), JobState::kRunning);
  EXPECT_GT(rig_.Desired("a")->version, version);
  EXPECT_TRUE(rig_.Desired("a")->attempts.at(0).run);
  // A full term, from the start on.
  rig_.Pass(absl::Seconds(5));
  ASSERT_TRUE(rig_.Beat("a", {Seen(Attempt(), AttemptState::kRunning)}).ok());
  EXPECT_EQ(rig_.Events(id_).size(), num_events);
  EXPECT_EQ(Attempt().number, job::AttemptNumber(1));
}

TEST_F(CoreAttemptsTest, AJobThatNoAgentHasAfterARestartIsRestarted) {  // P-03
  Begin();
  Run();
  rig_.Restart();
  ASSERT_TRUE(rig_.Beat("a").ok());
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
}

TEST_F(CoreAttemptsTest, CompletionDuringAnOutageIsTakenIn) {  // P-21
  Begin();
  Run();
  rig_.Restart();
  End(AttemptReason::kCompleted);
  EXPECT_EQ(rig_.State(id_), JobState::kSucceeded);
}

TEST_F(CoreAttemptsTest, TheTimeLimitCountsRunTimeOverAllAttempts) {
  auto spec = Spec();
  spec->max_time = absl::Seconds(10);
  Begin(spec);
  PassBeating(absl::Seconds(30), Seen(Attempt(), AttemptState::kStarting));
  Run();
  PassBeating(absl::Seconds(6), Seen(Attempt(), AttemptState::kRunning));
  End(AttemptReason::kRankLost);
  EXPECT_EQ(rig_.View(id_).job->run_time, absl::Seconds(6));
  PassBeating(absl::Seconds(1), {});
  Run();
  PassBeating(absl::Seconds(3), Seen(Attempt(), AttemptState::kRunning));
  EXPECT_EQ(rig_.State(id_), JobState::kRunning);
  rig_.clock().JumpWall(absl::Hours(1));
  rig_.Turn();
  EXPECT_EQ(rig_.State(id_), JobState::kRunning);
  PassBeating(absl::Seconds(1), Seen(Attempt(), AttemptState::kRunning));
  EXPECT_EQ(rig_.State(id_), JobState::kStopping);
  End(AttemptReason::kTimeLimit);
  EXPECT_EQ(rig_.State(id_), JobState::kFailed);
  EXPECT_EQ(rig_.View(id_).reason, JobReason::kTimeLimit);
}

TEST_F(CoreAttemptsTest, WallClockJumpsMoveNothing) {  // P-24, P-104, R-18
  Begin();
  Run();
  for (const auto jump : {absl::Hours(240), -absl::Hours(480)}) {
    rig_.clock().JumpWall(jump);
    PassBeating(absl::Seconds(3), Seen(Attempt(), AttemptState::kRunning));
    EXPECT_EQ(rig_.View(id_).reason, JobReason::kTraining);
  }
}

TEST_F(CoreAttemptsTest, AStalledCoordinatorLosesNobody) {  // P-19, P-20
  Begin();
  Run();
  rig_.clock().Advance(absl::Minutes(30));
  rig_.Turn();
  EXPECT_EQ(rig_.View(id_).reason, JobReason::kTraining);
}

TEST_F(CoreAttemptsTest, AnotherWorkFolderCannotVouchForTheOldOne) {  // P-16
  Begin();
  Run();
  const job::AttemptId old = Attempt();
  // The agent comes back on an emptied --work-dir: its ranks may live on.
  PassSilently();
  ASSERT_TRUE(rig_.Register("a", 1, "2", "boot", {}, "emptied").ok());
  EXPECT_TRUE(rig_.Desired("a")->attempts.empty()) << "starts it a second time";
  EXPECT_EQ(rig_.View(id_).reason, JobReason::kAwaitingCertainEnd);
  for (int i = 0; i < 119; ++i) {
    rig_.clock().Advance(absl::Seconds(1));
    ASSERT_TRUE(rig_.Beat("a", {}, "2").ok());
    ASSERT_EQ(Attempt(), old) << "after " << i << " s";
  }
  for (int i = 0; i < 4; ++i) {
    rig_.clock().Advance(absl::Seconds(1));
    ASSERT_TRUE(rig_.Beat("a", {}, "2").ok());
  }
  EXPECT_EQ(Attempt().number, old.number.Next());
  EXPECT_EQ(rig_.Desired("a")->attempts.at(0).attempt, Attempt());
}

TEST_F(CoreAttemptsTest, ASecondWorkerOfTheNameTakesNothingFromTheFirst) {
  Begin();
  Run();
  const job::AttemptId running = Attempt();
  EXPECT_EQ(
      rig_.Register("a", 1, "2", "elsewhere", {}, "its own").status().code(),
      absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(rig_.Beat("a", {Seen(running, AttemptState::kRunning)}).ok());
  EXPECT_EQ(Attempt(), running);
  EXPECT_TRUE(rig_.Desired("a")->attempts.at(0).run);
}

TEST_F(CoreAttemptsTest, AnotherWorkFolderIsToldApartAfterARestart) {
  Begin();
  Run();
  const job::AttemptId old = Attempt();
  PassSilently();
  ASSERT_TRUE(rig_.Register("a", 1, "2", "boot", {}, "emptied").ok());
  rig_.Restart();
  ASSERT_TRUE(rig_.Beat("a", {}, "2").ok());
  rig_.Pass(absl::Seconds(5));
  EXPECT_EQ(Attempt(), old);
  EXPECT_TRUE(rig_.Desired("a")->attempts.empty());
}

TEST_F(CoreAttemptsTest, AnotherWorkFolderIsNotGivenWhatTheOldOneMayRun) {
  Begin();
  // Assigned, but nobody knows whether the old agent heard of it.
  const job::AttemptId old = Attempt();
  PassSilently();
  ASSERT_TRUE(rig_.Register("a", 1, "2", "boot", {}, "emptied").ok());
  EXPECT_TRUE(rig_.Desired("a")->attempts.empty());
  EXPECT_EQ(Attempt(), old);
}

TEST_F(CoreAttemptsTest, AnotherFolderOnAnotherBootMayBeAnotherMachine) {
  Begin();
  Run();
  const job::AttemptId old = Attempt();
  PassSilently();
  ASSERT_TRUE(rig_.Register("a", 1, "2", "elsewhere", {}, "its own").ok());
  rig_.Pass(absl::Seconds(3));
  EXPECT_EQ(Attempt(), old);
}

TEST_F(CoreAttemptsTest, TheSameFolderOnAnotherBootVouches) {
  Begin();
  Run();
  ASSERT_TRUE(rig_.Register("a", 1, "2", "rebooted").ok());
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
}

TEST_F(CoreAttemptsTest, TheRightWorkFolderTakesAnOrphanBack) {
  Begin();
  Run();
  const job::AttemptId old = Attempt();
  PassSilently();
  ASSERT_TRUE(rig_.Register("a", 1, "2", "boot", {}, "wrong").ok());
  PassSilently();
  ASSERT_TRUE(
      rig_.Register("a", 1, "3", "boot", {Seen(old, AttemptState::kStopping)})
          .ok());
  ASSERT_EQ(rig_.Desired("a")->attempts.size(), 1u);
  EXPECT_FALSE(rig_.Desired("a")->attempts[0].run);
  ASSERT_TRUE(
      rig_.Beat("a",
                {Seen(old, AttemptState::kEnded, AttemptReason::kCancelled)},
                "3")
          .ok());
  EXPECT_EQ(rig_.State(id_), JobState::kQueued) << "at once, not by its lease";
}

TEST_F(CoreAttemptsTest, AJobIsNotGivenToTheWorkerThatItGaveUp) {
  auto spec = Spec();
  spec->restart.worker_lost_after = absl::Seconds(6);
  Begin(spec);
  Run();
  // Shorter than the silence that makes a worker unreachable for all.
  rig_.Pass(absl::Seconds(8));
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
  EXPECT_EQ(rig_.View(id_).job->num_restarts, 1);
  EXPECT_EQ(rig_.board().GetWorker(job::WorkerId("a"))->state,
            fleet::WorkerState::kUnreachable);
  ASSERT_TRUE(rig_.Beat("a").ok());
  EXPECT_EQ(rig_.State(id_), JobState::kStarting);
}

TEST_F(CoreAttemptsTest, AStoppingWorkerIsNotGivenItsOwnJobAgain) {
  Begin();
  Run();
  ASSERT_TRUE(rig_.Beat("a",
                        {Seen(Attempt(), AttemptState::kEnded,
                              AttemptReason::kStoppedWithCheckpoint)},
                        "1", /*stopping=*/true)
                  .ok());
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
  EXPECT_EQ(rig_.View(id_).message,
            "no worker takes new work: 1 is draining or stopping");
  const auto worker = rig_.board().GetWorker(job::WorkerId("a"));
  EXPECT_EQ(worker->state, fleet::WorkerState::kDraining);
  EXPECT_EQ(worker->message, "is stopping, gets no new work");
  // Its successor is a new agent, which takes work.
  ASSERT_TRUE(rig_.Register("a", 1, "2").ok());
  EXPECT_EQ(rig_.State(id_), JobState::kStarting);
}

TEST_F(CoreAttemptsTest, AFailedStartGoesToAnotherWorkerAndDoesNotCount) {
  Begin();  // P-68
  ASSERT_TRUE(rig_.Register("b", 1).ok());
  auto failed =
      Seen(Attempt(), AttemptState::kEnded, AttemptReason::kStartFailed);
  failed.message = "no more processes";
  ASSERT_TRUE(rig_.Beat("a", {failed}).ok());
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
  rig_.Pass(absl::Seconds(2));
  ASSERT_EQ(rig_.State(id_), JobState::kStarting);
  EXPECT_EQ(rig_.View(id_).job->LiveAttempt()->ranks[0].worker,
            job::WorkerId("b"));
  EXPECT_EQ(rig_.View(id_).job->num_restarts, 0);
  // Once it was started somewhere, every worker is as good as any.
  ASSERT_TRUE(rig_.Beat("b", {Seen(Attempt(), AttemptState::kEnded,
                                   AttemptReason::kStoppedWithCheckpoint)})
                  .ok());
  EXPECT_EQ(rig_.View(id_).job->LiveAttempt()->ranks[0].worker,
            job::WorkerId("a"));
}

TEST_F(CoreAttemptsTest, NothingIsPlacedOnAWorkerThatIsNotReady) {
  Begin();
  Run();
  const std::string why = "work folder '/w' has 3 MiB free";
  const auto observed = Seen(Attempt(), AttemptState::kRunning);
  ASSERT_TRUE(rig_.Beat("a", {observed}, "1", false, why).ok());
  EXPECT_EQ(rig_.State(id_), JobState::kRunning) << "what runs goes on";
  auto worker = rig_.board().GetWorker(job::WorkerId("a"));
  EXPECT_EQ(worker->state, fleet::WorkerState::kNotReady);
  EXPECT_EQ(worker->message, why);
  // What it says at once with an end is heeded before that one is drawn
  // conclusions from.
  ASSERT_TRUE(rig_.Beat("a",
                        {Seen(Attempt(), AttemptState::kEnded,
                              AttemptReason::kStoppedWithCheckpoint)},
                        "1", false, "now 2 MiB")
                  .ok());
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
  EXPECT_EQ(rig_.View(id_).reason, JobReason::kNoWorkers);
  EXPECT_EQ(rig_.View(id_).message,
            "no worker takes new work; a is not ready: now 2 MiB");
  EXPECT_EQ(rig_.board().GetWorker(job::WorkerId("a"))->message, "now 2 MiB");
  ASSERT_TRUE(rig_.Beat("a").ok());
  EXPECT_EQ(rig_.State(id_), JobState::kStarting);
  EXPECT_EQ(rig_.board().GetWorker(job::WorkerId("a"))->message, "");
}

TEST_F(CoreAttemptsTest, LinesThatAreGivenUpAreSaid) {
  Begin();
  Run();
  const auto ended = Seen(Attempt(), AttemptState::kEnded,
                          AttemptReason::kCompleted, /*drained=*/false);
  PassBeating(absl::Seconds(59), ended);
  EXPECT_FALSE(rig_.View(id_).job->IsTerminal());
  auto more = ended;
  more.acknowledged_bytes = 100;
  PassBeating(absl::Seconds(59), more);
  EXPECT_FALSE(rig_.View(id_).job->IsTerminal()) << "it hands in more";
  PassBeating(absl::Seconds(3), more);
  EXPECT_EQ(rig_.State(id_), JobState::kSucceeded);
  std::string told;
  for (const auto& event : rig_.Events(id_)) {
    const auto* notice = std::get_if<job::Notice>(&event.body);
    if (notice != nullptr) told += notice->text;
  }
  EXPECT_EQ(told,
            "the last lines and log bytes of rank 0 on a are missing: it "
            "handed in nothing for 1m, though not all");
}

TEST_F(CoreAttemptsTest, ProblemsOfAWorkerBecomeNoticesOnce) {
  Begin();
  Run();
  auto running = Seen(Attempt(), AttemptState::kRunning);
  running.problems = {"rank 0: log is not taken from byte 7 on: why"};
  // Not durable, so it is told again.
  rig_.store().FailWith(absl::ResourceExhaustedError("full"));
  ASSERT_TRUE(rig_.Beat("a", {running}).ok());
  rig_.store().FailWith(absl::OkStatus());
  ASSERT_TRUE(rig_.Beat("a", {running}).ok());
  ASSERT_TRUE(rig_.Beat("a", {running}).ok());
  int num_notices = 0;
  for (const auto& event : rig_.Events(id_)) {
    const auto* notice = std::get_if<job::Notice>(&event.body);
    if (notice == nullptr) continue;
    ++num_notices;
    EXPECT_EQ(notice->text, running.problems[0]);
    EXPECT_EQ(notice->severity, job::Notice::Severity::kError);
  }
  EXPECT_EQ(num_notices, 1);
}

TEST_F(CoreAttemptsTest, AHangRestarts) {  // P-115
  Begin();
  Run();
  End(AttemptReason::kHang);
  EXPECT_EQ(rig_.State(id_), JobState::kQueued);
  EXPECT_EQ(rig_.View(id_).job->num_restarts, 1);
}

}  // namespace
}  // namespace epochd::control
