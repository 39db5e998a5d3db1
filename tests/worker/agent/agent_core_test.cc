// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/agent_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/worker/link/temp_dir.h"
#include "worker/link/attempt_folder.h"

namespace epochd::agent {
namespace {

using process::RankStatus;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Phase = RankStatus::Phase;

// Ranks that live in memory; the test decides what becomes of them.
class FakeRunner final : public process::RankRunner {
 public:
  absl::Status Start(const keeper::RankRequest& request, bool) override {
    if (!fail_starts.empty()) return absl::UnavailableError(fail_starts);
    const std::string dir = link::RankDir(request.attempt_dir, request.rank);
    started.push_back(dir);
    had_socket[dir] = request.listen_fd >= 0;
    if (keepers_come_up) ranks[dir].phase = Phase::kRunning;
    return absl::OkStatus();
  }
  RankStatus Observe(const std::string& rank_dir) override {
    return ranks[rank_dir];
  }
  bool GiveUp(const std::string& rank_dir) override {
    if (!may_give_up) return false;
    given_up.insert(rank_dir);
    RankStatus& rank = ranks[rank_dir];
    rank.phase = Phase::kEnded;
    rank.exit.exit_code = 71;
    rank.exit.stopped = true;
    return true;
  }
  void Stop(const std::string& rank_dir) override { stopped.insert(rank_dir); }
  void Kill(const std::string& rank_dir) override { killed.insert(rank_dir); }
  void Forget(const std::string&) override {}
  void Send(const std::string& rank_dir,
            const link::Command& command) override {
    sent[rank_dir] = command;
    names_sent.push_back(command.name);
  }

  void End(const std::string& dir, int code, int64_t end = 1) {
    RankStatus& rank = ranks[dir];
    rank.phase = Phase::kEnded;
    rank.exit.exit_code = code;
    rank.exit.end_ns = end;
    rank.exit.stopped = stopped.count(dir) > 0 || killed.count(dir) > 0;
  }

  std::string fail_starts;
  bool keepers_come_up = true;
  bool may_give_up = true;
  std::vector<std::string> started;
  std::map<std::string, bool> had_socket;
  std::map<std::string, RankStatus> ranks;
  std::set<std::string> stopped;
  std::set<std::string> killed;
  std::set<std::string> given_up;
  std::map<std::string, link::Command> sent;
  std::vector<std::string> names_sent;
};

class FakeSpool final : public Spool {
 public:
  void Add(const std::string& attempt, int rank, const std::string&) override {
    added.insert(absl::StrCat(attempt, "#", rank));
  }
  void SetEnded(const std::string& attempt, int rank) override {
    ended.insert(absl::StrCat(attempt, "#", rank));
  }
  bool IsDrained(const std::string&) override { return drained; }
  int64_t Acknowledged(const std::string&) override { return acknowledged; }
  void Remove(const std::string& attempt) override { removed.insert(attempt); }

  bool drained = false;
  int64_t acknowledged = 0;
  std::set<std::string> added;
  std::set<std::string> ended;
  std::set<std::string> removed;
};

class FakeFetcher final : public FileFetcher {
 public:
  void Fetch(const std::string& attempt, const std::string&,
             std::vector<CarriedFile>) override {
    asked.push_back(attempt);
  }
  std::vector<std::string> asked;
};

class Core : public ::testing::Test {
 protected:
  Core() { Restart(); }

  // A new agent on the same work-dir.
  void Restart() {
    core_ = std::make_unique<AgentCore>(
        AgentCore::Options{
            .work_dir = dir_.path(),
            .storage = "/storage",
            .advertise_host = "127.0.0.1",
            .hostname = "host-a",
            .remove_folder =
                [this](const std::string& dir) { removed_.push_back(dir); }},
        runner_, spool_, fetcher_);
    core_->Adopt(now_);
  }

  static DesiredAttempt Wanted(const std::string& job, int ranks_here,
                               int world_size, int first_rank = 0) {
    DesiredAttempt desired;
    desired.name = absl::StrCat("jobs/", job, "/attempts/1");
    desired.spec.job = job;
    desired.spec.world_size = world_size;
    desired.spec.experiment_json = "{}";
    for (int i = 0; i < ranks_here; ++i) {
      desired.spec.ranks.push_back(
          {.rank = first_rank + i, .local_rank = i, .devices = {"cpu:0"}});
    }
    return desired;
  }

  void Want(std::vector<DesiredAttempt> attempts) {
    core_->SetDesired({.version = ++version_, .attempts = std::move(attempts)},
                      false);
    Step();
  }

  void Step(absl::Duration passed = absl::Milliseconds(1)) {
    now_ += passed;
    core_->Step(now_);
  }

  ObservedAttempt Observed(const std::string& job = "a") {
    for (const ObservedAttempt& attempt : core_->Observed()) {
      if (attempt.name == absl::StrCat("jobs/", job, "/attempts/1")) {
        return attempt;
      }
    }
    return {};
  }

  std::string AttemptDir(const std::string& job = "a") {
    return dir_ / ("attempts/" + job + "-1");
  }
  std::string RankDir(int rank, const std::string& job = "a") {
    return link::RankDir(AttemptDir(job), rank);
  }

  const TempDir dir_;
  FakeRunner runner_;
  FakeSpool spool_;
  FakeFetcher fetcher_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  int64_t version_ = 0;
  std::vector<std::string> removed_;
  std::unique_ptr<AgentCore> core_;
};

TEST_F(Core, StartsARankAsSoonAsItIsDesired) {
  Want({Wanted("a", 1, 1)});
  EXPECT_EQ(runner_.started, std::vector<std::string>{RankDir(0)});
  EXPECT_EQ(Observed().state, AttemptState::kRunning);
  const link::AttemptSpec spec =
      link::FromJson(*link::ReadFile(link::SpecPath(AttemptDir())));
  EXPECT_EQ(spec.storage, "/storage");
  EXPECT_EQ(spec.rendezvous, "");
  EXPECT_THAT(spool_.added, testing::ElementsAre("jobs/a/attempts/1#0"));
}

TEST_F(Core, StepsAgainChangeNothing) {
  Want({Wanted("a", 2, 2)});
  Step();
  Want({Wanted("a", 2, 2)});
  EXPECT_EQ(runner_.started.size(), 2U);
}

TEST_F(Core, RankZeroInheritsTheBoundSocketAndItsPortIsReported) {
  Want({Wanted("a", 2, 4)});
  EXPECT_TRUE(runner_.had_socket[RankDir(0)]);
  EXPECT_FALSE(runner_.had_socket[RankDir(1)]);
  EXPECT_THAT(Observed().rendezvous, StartsWith("127.0.0.1:"));
}

TEST_F(Core, OtherRanksWaitForTheRendezvous) {
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

TEST_F(Core, WaitsForCarriedFiles) {
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.files = {{.path = "train.py", .sha256 = "00"}};
  Want({wanted});
  EXPECT_EQ(fetcher_.asked.size(), 1U);
  EXPECT_THAT(runner_.started, IsEmpty());
  core_->FetchDone("jobs/a/attempts/1", absl::OkStatus());
  Step();
  EXPECT_EQ(runner_.started.size(), 1U);
}

TEST_F(Core, AFileThatDoesNotComeIsAFailedStart) {
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

TEST_F(Core, AFolderThatCannotBeMadeIsAFailedStart) {
  Append(dir_ / "attempts/a-1", "a file in the way");
  Want({Wanted("a", 1, 1)});
  EXPECT_EQ(Observed().reason, AttemptReason::kStartFailed);
  EXPECT_THAT(Observed().message, HasSubstr("host-a"));
}

TEST_F(Core, AKeeperThatCannotBeStartedIsAFailedStart) {
  runner_.fail_starts = "no such program";
  Want({Wanted("a", 1, 1)});
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kStartFailed);
  EXPECT_THAT(Observed().message, HasSubstr("no such program"));
}

TEST_F(Core, AKeeperThatNeverShowsUpIsAFailedStart) {
  runner_.keepers_come_up = false;
  Want({Wanted("a", 1, 1)});
  Step(absl::Seconds(59));
  EXPECT_EQ(Observed().state, AttemptState::kStarting);
  Step(absl::Seconds(2));
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kStartFailed);
}

TEST_F(Core, AKeeperThatShowsUpLateIsNotLetIn) {
  runner_.keepers_come_up = false;
  Want({Wanted("a", 1, 1)});
  Step(absl::Seconds(61));
  EXPECT_THAT(runner_.given_up, testing::ElementsAre(RankDir(0)));
}

TEST_F(Core, AKeeperThatIsJustComingUpAtTheDeadlineIsEnded) {
  runner_.keepers_come_up = false;
  runner_.may_give_up = false;
  Want({Wanted("a", 2, 2)});
  runner_.ranks[RankDir(1)].phase = Phase::kRunning;
  DesiredAttempt stop = Wanted("a", 2, 2);
  stop.run = false;
  stop.stop_reason = AttemptReason::kCancelled;
  Want({stop});
  runner_.End(RankDir(1), 75);
  Step(absl::Seconds(61));
  EXPECT_EQ(Observed().state, AttemptState::kStopping) << "one is coming up";
  runner_.ranks[RankDir(0)].phase = Phase::kRunning;
  Step(absl::Seconds(2));
  EXPECT_THAT(runner_.stopped, testing::Contains(RankDir(0)));
  runner_.End(RankDir(0), 75);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
}

TEST_F(Core, ACancelDoesNotWaitForKeepersThatAreNotThere) {
  runner_.keepers_come_up = false;
  Want({Wanted("a", 1, 1)});
  DesiredAttempt stop = Wanted("a", 1, 1);
  stop.run = false;
  stop.stop_reason = AttemptReason::kCancelled;
  Want({stop});
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kCancelled);
}

TEST_F(Core, RanksWaitUntilEveryAgentIsReady) {
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

TEST_F(Core, ASilentTrainerHangs) {  // P-115
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

TEST_F(Core, ACommandThatPrintsLives) {
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

TEST_F(Core, OnlyTheAgentOfRankZeroCallsItAHang) {
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

TEST_F(Core, TheHangLimitIsKnownAfterARestart) {
  DesiredAttempt wanted = Wanted("a", 1, 1);
  wanted.spec.hang_after = 60;
  Want({wanted});
  Restart();
  Step(absl::Seconds(1));
  Step(absl::Seconds(61));
  EXPECT_EQ(Observed().reason, AttemptReason::kHang);
}

TEST_F(Core, AnAttemptWhoseLinesNobodyTakesIsEndedAndSaysWhy) {
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

TEST_F(Core, TellsHowFarAnEndedAttemptIsHandedIn) {
  Want({Wanted("a", 1, 1)});
  spool_.acknowledged = 5;
  EXPECT_EQ(Observed().acknowledged_bytes, 0);
  runner_.End(RankDir(0), 0);
  Step();
  EXPECT_EQ(Observed().acknowledged_bytes, 5);
}

TEST_F(Core, ANodeThatCannotLoadTheTrainerIsNotABadSpec) {
  Want({Wanted("a", 1, 1)});
  Append(link::LogPath(RankDir(0)), "libtorch.so: cannot open\n");
  runner_.End(RankDir(0), 127);
  Step();
  EXPECT_EQ(Observed().reason, AttemptReason::kRankLost);
  EXPECT_THAT(Observed().message,
              HasSubstr("exit code 127 (this node cannot load the trainer): "
                        "its log ends with: libtorch.so: cannot open"));
}

TEST_F(Core, EndsCompletedOnlyWhenEveryRankIsDone) {
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

TEST_F(Core, AFailingRankStopsTheOthersAndIsNamed) {
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

TEST_F(Core, StopsWhatIsNotWantedAndReportsTheReason) {
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

TEST_F(Core, AStopThatOvertakesTheStartIsAnsweredWithEnded) {
  DesiredAttempt stop = Wanted("a", 1, 1);
  stop.run = false;
  stop.stop_reason = AttemptReason::kCancelled;
  Want({stop});
  EXPECT_THAT(runner_.started, IsEmpty());
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_EQ(Observed().reason, AttemptReason::kCancelled);
}

TEST_F(Core, CancelWhileWaitingForTheRendezvousStartsNothing) {
  DesiredAttempt wanted = Wanted("a", 1, 2, /*first_rank=*/1);
  Want({wanted});
  wanted.run = false;
  wanted.stop_reason = AttemptReason::kCancelled;
  wanted.spec.rendezvous = "node-b:1";
  Want({wanted});
  EXPECT_THAT(runner_.started, IsEmpty());
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
}

TEST_F(Core, RemovesTheFolderOnceForgottenAndDrained) {
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

TEST_F(Core, WhatIsNotListedIsEnded) {
  Want({Wanted("a", 1, 1)});
  Want({});
  EXPECT_THAT(runner_.stopped, testing::ElementsAre(RankDir(0)));
}

TEST_F(Core, KeepsEverythingRunningUntilTheCoordinatorSpoke) {
  Want({Wanted("a", 1, 1)});
  Restart();
  Step();
  EXPECT_THAT(runner_.stopped, IsEmpty());
  EXPECT_EQ(Observed().state, AttemptState::kRunning);
}

TEST_F(Core, IgnoresAnOlderVersionButNotAfterARegistration) {
  Want({Wanted("a", 1, 1)});
  core_->SetDesired({.version = 0, .attempts = {}}, false);
  Step();
  EXPECT_THAT(runner_.stopped, IsEmpty());
  core_->SetDesired({.version = 0, .attempts = {}}, true);
  Step();
  EXPECT_EQ(runner_.stopped.size(), 1U);
}

TEST_F(Core, ARefusedAttemptIsEndedAndCountsAsDrained) {
  Want({Wanted("a", 1, 1)});
  core_->Refuse("jobs/a/attempts/1");
  Step();
  EXPECT_THAT(runner_.stopped, testing::ElementsAre(RankDir(0)));
  runner_.End(RankDir(0), 75);
  Step();
  EXPECT_EQ(Observed().state, AttemptState::kEnded);
  EXPECT_TRUE(Observed().drained);
}

TEST_F(Core, RenewsLeasesWhileTheCoordinatorHearsOfUs) {
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

TEST_F(Core, TheFirstLeaseCountsFromTheLastWordOfTheCoordinator) {
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

TEST_F(Core, NothingStartsUnderALeaseThatIsOver) {
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

TEST_F(Core, ALeaseThatEndsWhileFilesAreFetchedStartsNothing) {
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

TEST_F(Core, KillsAtTheEndOfTheLease) {
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

TEST_F(Core, TakesOverRunningAndEndedAttempts) {
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

TEST_F(Core, AnAttemptThatWasNeverFullyStartedIsLostAfterARestart) {
  Want({Wanted("a", 2, 2)});
  runner_.ranks[RankDir(1)].phase = Phase::kAbsent;
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

TEST_F(Core, AFolderThatNeverBeganIsRemovedAndStartedAnew) {
  std::filesystem::create_directories(AttemptDir() + "/files");
  Append(AttemptDir() + "/files/half", "x");
  Restart();
  EXPECT_FALSE(std::filesystem::exists(AttemptDir()));
  Want({Wanted("a", 1, 1)});
  EXPECT_EQ(runner_.started.size(), 1U);
}

TEST_F(Core, StopAllEndsEverythingAndTakesNothingNewOn) {
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
