// SPDX-License-Identifier: Apache-2.0
//
// How the core starts attempts, and what keeps it from that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/worker/agent/agent_core_fixture.h"

namespace epochd::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using RankPhase = process::RankStatus::Phase;

class AgentCoreStartTest : public AgentCoreTest {};

TEST_F(AgentCoreStartTest, StartsARankAsSoonAsItIsDesired) {
  Want({Wanted("a", 1, 1)});
  EXPECT_EQ(runner_.started, std::vector<std::string>{RankDir(0)});
  EXPECT_EQ(Observed().state, AttemptState::kRunning);
  const link::AttemptSpec spec =
      link::FromJson(*link::ReadFile(link::SpecPath(AttemptDir())));
  EXPECT_EQ(spec.storage, "/storage");
  EXPECT_EQ(spec.rendezvous, "");
  EXPECT_THAT(spool_.added, testing::ElementsAre("jobs/a/attempts/1#0"));
}

TEST_F(AgentCoreStartTest, StepsAgainChangeNothing) {
  Want({Wanted("a", 2, 2)});
  Step();
  Want({Wanted("a", 2, 2)});
  EXPECT_EQ(runner_.started.size(), 2U);
}

TEST_F(AgentCoreStartTest, RankZeroInheritsTheBoundSocketAndItsPortIsReported) {
  Want({Wanted("a", 2, 4)});
  EXPECT_TRUE(runner_.had_socket[RankDir(0)]);
  EXPECT_FALSE(runner_.had_socket[RankDir(1)]);
  EXPECT_THAT(Observed().rendezvous, StartsWith("127.0.0.1:"));
}

TEST_F(AgentCoreStartTest, OtherRanksWaitForTheRendezvous) {
  DesiredAttempt wanted = Wanted("a", 2, 4, /*first_rank=*/2);
  Want({wanted});
  EXPECT_THAT(runner_.started, IsEmpty());
  EXPECT_EQ(Observed().state, AttemptState::kStarting);
  wanted.spec.rendezvous = "node-b:4711";
  Want({wanted});
  EXPECT_EQ(runner_.started.size(), 2U);
  EXPECT_EQ(Observed().rendezvous, "");
  EXPECT_EQ(
      link::FromJson(*link::ReadFile(link::SpecPath(AttemptDir()))).rendezvous,
      "node-b:4711");
}

TEST_F(AgentCoreStartTest, WaitsForCarriedFiles) {
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.files = {{.path = "train.py", .sha256 = "00"}};
  Want({wanted});
  EXPECT_EQ(fetcher_.asked.size(), 1U);
  EXPECT_THAT(runner_.started, IsEmpty());
  core_->FetchDone("jobs/a/attempts/1", absl::OkStatus());
  Step();
  EXPECT_EQ(runner_.started.size(), 1U);
}

TEST_F(AgentCoreStartTest, AFileThatDoesNotComeIsAFailedStart) {
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.files = {{.path = "train.py", .sha256 = "00"}};
  Want({wanted});
  core_->FetchDone("jobs/a/attempts/1",
                   absl::UnavailableError("carried file 'train.py': gone"));
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kStartFailed);
  EXPECT_THAT(Observed().message, HasSubstr("'train.py'"));
}

TEST_F(AgentCoreStartTest, AFolderThatCannotBeMadeIsAFailedStart) {
  Append(dir_ / "attempts/a-1", "a file in the way");
  Want({Wanted("a", 1, 1)});
  EXPECT_EQ(Observed().reason, AttemptReason::kStartFailed);
  EXPECT_THAT(Observed().message, HasSubstr("host-a"));
}

TEST_F(AgentCoreStartTest, AFilePathThatNoWorkerTakesIsABadSpec) {
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.files = {{.path = "../train.py", .sha256 = "00"}};
  Want({wanted});
  core_->FetchDone("jobs/a/attempts/1",
                   absl::InvalidArgumentError("carried file '../train.py'"));
  Step();
  EXPECT_EQ(Observed().reason, AttemptReason::kBadSpec);
}

TEST_F(AgentCoreStartTest, IsNotReadyAsLongAsSomethingIsInTheWay) {
  Want({Wanted("a", 1, 1)});
  EXPECT_EQ(core_->not_ready(), "");
  obstacle_ = "work folder '/w' has 3 MiB free";
  Step(absl::Seconds(4));
  EXPECT_EQ(core_->not_ready(), "") << "looks every few seconds";
  Step(absl::Seconds(2));
  EXPECT_EQ(core_->not_ready(), obstacle_);
  EXPECT_EQ(Observed().state, AttemptState::kRunning) << "what runs goes on";
  obstacle_ = "";
  Step(absl::Seconds(6));
  EXPECT_EQ(core_->not_ready(), "");
}

TEST_F(AgentCoreStartTest, LooksBeforeAStartAndFailsItWithTheReason) {
  Step();
  obstacle_ = "work folder '/w' cannot be written: No space left on device";
  Want({Wanted("a", 1, 1)});
  EXPECT_THAT(runner_.started, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(AttemptDir()));
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kStartFailed);
  EXPECT_EQ(Observed().message,
            "job a attempt 1 on host-a: work folder '/w' cannot be written: No "
            "space left on device");
  EXPECT_EQ(core_->not_ready(), obstacle_);
}

TEST_F(AgentCoreStartTest, AFailedStartIsAReasonToLook) {
  Want({Wanted("b", 1, 1)});
  const int num_looks = num_looks_;
  runner_.fail_starts = "no more processes";
  Want({Wanted("b", 1, 1), Wanted("a", 1, 1)});
  EXPECT_EQ(Observed().reason, AttemptReason::kStartFailed);
  EXPECT_GE(num_looks_, num_looks + 1);
}

TEST_F(AgentCoreStartTest, AKeeperThatCannotBeStartedIsAFailedStart) {
  runner_.fail_starts = "no such program";
  Want({Wanted("a", 1, 1)});
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kStartFailed);
  EXPECT_THAT(Observed().message, HasSubstr("no such program"));
}

TEST_F(AgentCoreStartTest, AKeeperThatNeverShowsUpIsAFailedStart) {
  runner_.keepers_come_up = false;
  Want({Wanted("a", 1, 1)});
  Step(absl::Seconds(59));
  EXPECT_EQ(Observed().state, AttemptState::kStarting);
  Step(absl::Seconds(2));
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kStartFailed);
}

TEST_F(AgentCoreStartTest, AKeeperThatShowsUpLateIsNotLetIn) {
  runner_.keepers_come_up = false;
  Want({Wanted("a", 1, 1)});
  Step(absl::Seconds(61));
  EXPECT_THAT(runner_.given_up, testing::ElementsAre(RankDir(0)));
}

TEST_F(AgentCoreStartTest, AKeeperThatIsJustComingUpAtTheDeadlineIsEnded) {
  runner_.keepers_come_up = false;
  runner_.may_give_up = false;
  Want({Wanted("a", 2, 2)});
  runner_.ranks[RankDir(1)].phase = RankPhase::kRunning;
  DesiredAttempt stop = Wanted("a", 2, 2);
  stop.run = false;
  stop.stop_reason = AttemptReason::kCancelled;
  Want({stop});
  runner_.End(RankDir(1), 75);
  Step(absl::Seconds(61));
  EXPECT_EQ(Observed().state, AttemptState::kStopping) << "one is coming up";
  runner_.ranks[RankDir(0)].phase = RankPhase::kRunning;
  Step(absl::Seconds(2));
  EXPECT_THAT(runner_.stopped, testing::Contains(RankDir(0)));
  runner_.End(RankDir(0), 75);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
}

TEST_F(AgentCoreStartTest, ACancelDoesNotWaitForKeepersThatAreNotThere) {
  runner_.keepers_come_up = false;
  Want({Wanted("a", 1, 1)});
  DesiredAttempt stop = Wanted("a", 1, 1);
  stop.run = false;
  stop.stop_reason = AttemptReason::kCancelled;
  Want({stop});
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kCancelled);
}

TEST_F(AgentCoreStartTest, RanksWaitUntilEveryAgentIsReady) {
  DesiredAttempt wanted = Wanted("a", 1, 2);
  wanted.start = false;
  wanted.files = {{.path = "train.py", .sha256 = "00"}};
  Want({wanted});
  EXPECT_FALSE(Observed().ready);
  core_->FetchDone("jobs/a/attempts/1", absl::OkStatus());
  Step();
  EXPECT_TRUE(Observed().ready);
  EXPECT_THAT(runner_.started, IsEmpty());
  wanted.start = true;
  Want({wanted});
  EXPECT_EQ(runner_.started.size(), 1U);
}

}  // namespace
}  // namespace epochd::agent
