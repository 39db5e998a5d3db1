// SPDX-License-Identifier: Apache-2.0
//
// The whole agent with real processes; only the coordinator is in memory.
#include "worker/agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/worker/agent/fake_coordinator.h"
#include "tests/worker/process/attempt_fixture.h"
#include "worker/agent/work_folder.h"
#include "worker/process/keeper/process_tree.h"

namespace epochd::agent {
namespace {

using ::testing::HasSubstr;

// Writes one line, then does the rest of the script.
constexpr char kSay[] = "echo '{\"type\":\"started\"}' >> $EPOCHD_EVENTS; ";

std::string Name(const std::string& job) {
  return absl::StrCat("jobs/", job, "/attempts/1");
}

DesiredAttempt Script(const std::string& job, const std::string& script,
                      int world_size = 1, bool is_command = false) {
  DesiredAttempt desired;
  desired.name = Name(job);
  desired.spec.job = job;
  desired.spec.world_size = world_size;
  desired.spec.local_world_size = world_size;
  desired.spec.stop_grace = 60;
  if (is_command) {
    desired.spec.command = {"/bin/sh", "-c", script};
  } else {
    desired.spec.experiment_json = script;
  }
  for (int rank = 0; rank < world_size; ++rank) {
    desired.spec.ranks.push_back(
        {.rank = rank, .local_rank = rank, .devices = {}});
  }
  return desired;
}

class AgentTest : public ::testing::Test {
 protected:
  ~AgentTest() override { StopAgent(/*end_attempts=*/true); }

  void StartAgent(bool warm = false, const std::string& incarnation = "one") {
    coordinator_.Reopen();
    Agent::Options options;
    options.core.work_dir = dir_ / "work";
    options.core.storage = dir_ / "storage";
    options.core.advertise_host = "127.0.0.1";
    options.core.hostname = "host-a";
    options.core.find_obstacle = [this] {
      return FolderProblem(dir_ / "work", min_free_);
    };
    options.runner = {.trainer = FAKE_TRAINER,
                      .keeper = FAKE_TRAINER,
                      .log_path = dir_ / "warm.log",
                      .warm = warm};
    options.worker.name = "w";
    options.worker.incarnation = incarnation;
    options.drain_timeout = absl::Seconds(60);
    agent_ = std::make_unique<Agent>(options, coordinator_);
    thread_ = std::thread([this] { outcome_ = agent_->Run(); });
  }

  void StopAgent(bool end_attempts) {
    if (agent_ == nullptr) return;
    agent_->Stop(end_attempts);
    thread_.join();
    agent_.reset();
  }

  bool IsIn(const std::string& job, AttemptState state) {
    return WaitFor([&] {
      const ObservedAttempt seen = coordinator_.Observed(Name(job));
      return !seen.name.empty() && seen.state == state;
    });
  }
  ObservedAttempt WaitForDrained(const std::string& job) {
    EXPECT_TRUE(
        WaitFor([&] { return coordinator_.Observed(Name(job)).drained; }));
    return coordinator_.Observed(Name(job));
  }
  std::string AttemptDir(const std::string& job) {
    return dir_ / ("work/attempts/" + job + "-1");
  }

  const TempDir dir_;
  FakeCoordinator coordinator_;
  int64_t min_free_ = 0;
  std::unique_ptr<Agent> agent_;
  std::thread thread_;
  absl::Status outcome_;
};

TEST_F(AgentTest, RunsAnAttemptFromDesireToRemoval) {
  StartAgent(/*warm=*/true);
  coordinator_.Want({Script("a", absl::StrCat(kSay, "printf 'bye'"))});
  const ObservedAttempt ended = WaitForDrained("a");
  EXPECT_EQ(ended.state, AttemptState::kEnded);
  EXPECT_EQ(ended.reason, AttemptReason::kCompleted);
  EXPECT_EQ(ended.ranks.at(0).exit_code, 0);
  EXPECT_EQ(coordinator_.Events(Name("a")), "{\"type\":\"started\"}\n");
  EXPECT_EQ(coordinator_.Log(Name("a")), "bye");
  coordinator_.Want({});
  EXPECT_TRUE(
      WaitFor([&] { return !std::filesystem::exists(AttemptDir("a")); }));
}

TEST_F(AgentTest, ReportsAFailureWithItsPlaceAndWords) {
  StartAgent();
  coordinator_.Want({Script("a", "echo 'no such device' >&2; exit 71")});
  const ObservedAttempt ended = WaitForDrained("a");
  EXPECT_EQ(ended.reason, AttemptReason::kRankLost);
  EXPECT_THAT(ended.message,
              HasSubstr("job a attempt 1 rank 0 on host-a: exit code 71"));
  EXPECT_THAT(ended.message, HasSubstr("no such device"));
}

TEST_F(AgentTest, CancelLeavesNoProcess) {
  StartAgent();
  const std::string script =
      "trap '' TERM; setsid sleep 1000 & echo $! > child; echo $$ > up; while "
      ":; do sleep 1000; done";
  DesiredAttempt wanted = Script("a", script, 1, /*is_command=*/true);
  wanted.spec.stop_grace = 0.1;
  coordinator_.Want({wanted});
  ASSERT_TRUE(IsIn("a", AttemptState::kRunning));
  const int64_t child = WaitForNumber(AttemptDir("a") + "/files/child");
  const int64_t rank = WaitForNumber(AttemptDir("a") + "/files/up");
  wanted.run = false;
  wanted.stop_reason = AttemptReason::kCancelled;
  coordinator_.Want({wanted});
  ASSERT_TRUE(IsIn("a", AttemptState::kEnded));
  EXPECT_FALSE(ProcessExists(child));
  EXPECT_FALSE(ProcessExists(rank));
  EXPECT_EQ(coordinator_.Observed(Name("a")).reason, AttemptReason::kCancelled);
}

TEST_F(AgentTest, AFailingRankTakesTheGangDown) {
  StartAgent();
  coordinator_.Want({Script("a",
                            "if [ $RANK = 1 ]; then exit 70; fi; trap 'exit "
                            "75' TERM; while :; do sleep 0.01; done",
                            3)});
  const ObservedAttempt ended = WaitForDrained("a");
  EXPECT_EQ(ended.reason, AttemptReason::kTrainingFailed);
  EXPECT_THAT(ended.message, HasSubstr("rank 1 "));
}

TEST_F(AgentTest, ANewAgentTakesOverWhatRuns) {
  StartAgent(/*warm=*/true);
  coordinator_.Want(
      {Script("a", absl::StrCat(kSay,
                                "echo $$ > up; while [ ! -e go ]; do sleep "
                                "0.01; done; ",
                                kSay, "exit 0"))});
  ASSERT_TRUE(IsIn("a", AttemptState::kRunning));
  const int64_t rank = WaitForNumber(AttemptDir("a") + "/files/up");
  StopAgent(/*end_attempts=*/false);
  EXPECT_TRUE(ProcessExists(rank));
  // It ends while no agent is there.
  Append(AttemptDir("a") + "/files/go", "now");
  ASSERT_TRUE(WaitFor(
      [&] { return link::ReadExit(AttemptDir("a") + "/rank-0").has_value(); }));
  StartAgent(/*warm=*/false, "two");
  const ObservedAttempt ended = WaitForDrained("a");
  EXPECT_EQ(ended.reason, AttemptReason::kCompleted);
  EXPECT_EQ(coordinator_.Events(Name("a")),
            "{\"type\":\"started\"}\n{\"type\":\"started\"}\n");
}

TEST_F(AgentTest, TrainingGoesOnWhileTheCoordinatorIsAway) {
  StartAgent();
  coordinator_.Want({Script(
      "a",
      "i=0; while [ ! -e go ]; do echo '{}' >> $EPOCHD_EVENTS; echo $$ > "
      "up; sleep 0.01; done; echo end")});
  ASSERT_TRUE(IsIn("a", AttemptState::kRunning));
  coordinator_.SetReachable(false);
  WaitForNumber(AttemptDir("a") + "/files/up");
  Append(AttemptDir("a") + "/files/go", "now");
  const std::string rank_dir = AttemptDir("a") + "/rank-0";
  ASSERT_TRUE(WaitFor([&] { return link::ReadExit(rank_dir).has_value(); }));
  const std::string spool = Slurp(link::EventsPath(rank_dir));
  coordinator_.SetReachable(true);
  EXPECT_EQ(WaitForDrained("a").reason, AttemptReason::kCompleted);
  EXPECT_EQ(coordinator_.Events(Name("a")), spool);
  EXPECT_EQ(coordinator_.Log(Name("a")), "end\n");
}

TEST_F(AgentTest, AStoppedProcessIsEndedAsHangingAndLeavesNothing) {
  StartAgent();
  DesiredAttempt wanted = Script("a", "echo $$ > up; kill -STOP $$");
  wanted.spec.hang_after = 0.5;
  wanted.spec.stop_grace = 0.2;
  coordinator_.Want({wanted});
  const int64_t rank = WaitForNumber(AttemptDir("a") + "/files/up");
  EXPECT_EQ(WaitForDrained("a").reason, AttemptReason::kHang);
  EXPECT_FALSE(ProcessExists(rank));
}

TEST_F(AgentTest, AKilledRankIsLost) {
  StartAgent(/*warm=*/true);
  coordinator_.Want({Script("a", "echo $$ > up; exec sleep 1000")});
  const auto rank =
      static_cast<pid_t>(WaitForNumber(AttemptDir("a") + "/files/up"));
  kill(rank, SIGKILL);
  const ObservedAttempt ended = WaitForDrained("a");
  EXPECT_EQ(ended.reason, AttemptReason::kRankLost);
  EXPECT_EQ(ended.ranks.at(0).term_signal, SIGKILL);
}

TEST_F(AgentTest, StoppingWithTheAttemptsSavesAndHandsInEverything) {
  StartAgent();
  coordinator_.Want(
      {Script("a", absl::StrCat("trap '", "echo \"{}\" >> $EPOCHD_EVENTS; ",
                                "exit 75' TERM; echo $$ > up; while :; do "
                                "sleep 0.01; done"))});
  WaitForNumber(AttemptDir("a") + "/files/up");
  StopAgent(/*end_attempts=*/true);
  EXPECT_TRUE(outcome_.ok());
  EXPECT_EQ(coordinator_.Events(Name("a")), "{}\n");
  const ObservedAttempt seen = coordinator_.Observed(Name("a"));
  EXPECT_EQ(seen.state, AttemptState::kEnded);
  EXPECT_EQ(seen.reason, AttemptReason::kStoppedWithCheckpoint);
}

TEST_F(AgentTest, ASupersededAgentEndsItsAttempts) {
  StartAgent();
  coordinator_.Want({Script("a", "echo $$ > up; exec sleep 1000")});
  const int64_t rank = WaitForNumber(AttemptDir("a") + "/files/up");
  coordinator_.Supersede();
  thread_.join();
  agent_.reset();
  EXPECT_EQ(outcome_.code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(ProcessExists(rank));
}

TEST_F(AgentTest, TwoAgentsCannotShareAWorkDir) {
  StartAgent();
  ASSERT_TRUE(WaitFor([&] { return coordinator_.num_registrations() == 1; }));
  Agent::Options options;
  options.core.work_dir = dir_ / "work";
  FakeCoordinator other;
  Agent second(options, other);
  EXPECT_EQ(second.Run().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(AgentTest, FiftyGangsAtOnceMeetAtFiftyPorts) {
  StartAgent(/*warm=*/true);
  std::vector<DesiredAttempt> wanted;
  for (int i = 0; i < 50; ++i) {
    wanted.push_back(Script(absl::StrCat("job", i),
                            "echo $MASTER_PORT; if [ $RANK = 0 ]; then "
                            "readlink /proc/self/fd/$LISTEN_FD; fi",
                            2));
  }
  coordinator_.Want(wanted);
  std::set<std::string> ports;
  for (int i = 0; i < 50; ++i) {
    const std::string job = absl::StrCat("job", i);
    EXPECT_EQ(WaitForDrained(job).reason, AttemptReason::kCompleted);
    const std::string other = coordinator_.Log(Name(job), 1);
    EXPECT_EQ(coordinator_.Log(Name(job), 0).substr(0, other.size()), other);
    EXPECT_THAT(coordinator_.Log(Name(job), 0), HasSubstr("socket:["));
    ports.insert(other);
  }
  EXPECT_EQ(ports.size(), 50U);
}

TEST_F(AgentTest, ManyAttemptsLeaveNoFileOpen) {
  StartAgent(/*warm=*/true);
  int before = 0;
  for (int i = 0; i < 30; ++i) {
    const std::string job = absl::StrCat("job", i);
    coordinator_.Want({Script(job, "true")});
    WaitForDrained(job);
    if (i == 5) before = NumOpenFiles();
  }
  coordinator_.Want({});
  EXPECT_TRUE(WaitFor([&] { return NumOpenFiles() <= before; }));
}

TEST_F(AgentTest, AStoppingAgentSaysSoBeforeItsAttemptsHaveEnded) {
  StartAgent();
  coordinator_.Want(
      {Script("a",
              "trap 'while [ ! -e go ]; do sleep 0.01; done; exit 75' "
              "TERM; echo $$ > up; while :; do sleep 0.01; done")});
  WaitForNumber(AttemptDir("a") + "/files/up");
  EXPECT_FALSE(coordinator_.stopping());
  agent_->Stop(/*end_attempts=*/true);
  EXPECT_TRUE(WaitFor([&] { return coordinator_.stopping(); }));
  EXPECT_NE(coordinator_.Observed(Name("a")).state, AttemptState::kEnded);
  Append(AttemptDir("a") + "/files/go", "now");
}

TEST_F(AgentTest, AnAgentWithoutRoomSaysSoAndStartsNothing) {
  min_free_ = std::numeric_limits<int64_t>::max();
  StartAgent();
  EXPECT_TRUE(WaitFor([&] { return !coordinator_.not_ready().empty(); }));
  EXPECT_THAT(coordinator_.not_ready(),
              HasSubstr("work folder '" + (dir_ / "work") + "' has "));
  coordinator_.Want({Script("a", kSay)});
  const ObservedAttempt ended = WaitForDrained("a");
  EXPECT_EQ(ended.reason, AttemptReason::kStartFailed);
  EXPECT_THAT(ended.message, HasSubstr("' has "));
  EXPECT_FALSE(std::filesystem::exists(AttemptDir("a")));
}

TEST_F(AgentTest, AnAgentThatLeavesItsAttemptsSaysSo) {
  StartAgent();
  ASSERT_TRUE(WaitFor([&] { return coordinator_.num_registrations() == 1; }));
  StopAgent(/*end_attempts=*/false);
  EXPECT_TRUE(coordinator_.stopping());
}

TEST_F(AgentTest, AWorkFolderIsKnownByItsIdUntilItIsEmptied) {
  StartAgent();
  ASSERT_TRUE(WaitFor([&] { return coordinator_.num_registrations() == 1; }));
  const std::string first = coordinator_.folder_id();
  EXPECT_EQ(first.size(), 32U);
  StopAgent(/*end_attempts=*/true);
  StartAgent(/*warm=*/false, "two");
  ASSERT_TRUE(WaitFor([&] { return coordinator_.num_registrations() == 2; }));
  EXPECT_EQ(coordinator_.folder_id(), first);
  StopAgent(/*end_attempts=*/true);
  std::filesystem::remove_all(dir_ / "work/attempts");
  StartAgent(/*warm=*/false, "three");
  ASSERT_TRUE(WaitFor([&] { return coordinator_.num_registrations() == 3; }));
  EXPECT_NE(coordinator_.folder_id(), first);
}

TEST_F(AgentTest, ASilentCommandIsEndedAsHanging) {
  StartAgent();
  DesiredAttempt wanted =
      Script("a", "echo working; exec sleep 1000", 1, /*is_command=*/true);
  wanted.spec.hang_after = 0.5;
  coordinator_.Want({wanted});
  const ObservedAttempt ended = WaitForDrained("a");
  EXPECT_EQ(ended.reason, AttemptReason::kHang);
  EXPECT_THAT(ended.message, HasSubstr("no sign of life for 500ms"));
}

}  // namespace
}  // namespace epochd::agent
