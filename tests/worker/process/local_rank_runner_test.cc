// SPDX-License-Identifier: Apache-2.0
#include "worker/process/local_rank_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/worker/process/attempt_fixture.h"
#include "worker/process/keeper/process_tree.h"

namespace epochd::process {
namespace {

using ::testing::HasSubstr;
using Phase = RankStatus::Phase;

class LocalRunner : public ::testing::Test {
 protected:
  std::unique_ptr<LocalRankRunner> Make(bool warm) {
    return std::make_unique<LocalRankRunner>(
        LocalRankRunner::Options{.trainer = FAKE_TRAINER,
                                 .keeper = FAKE_TRAINER,
                                 .log_path = dir_ / "warm.log",
                                 .warm = warm});
  }

  absl::Time Now() {
    time_ += absl::Milliseconds(50);
    return time_;
  }

  bool WaitForWarm(LocalRankRunner& runner) {
    return WaitFor([&] {
      runner.Poll(Now());
      return runner.is_warm();
    });
  }

  RankStatus WaitForPhase(LocalRankRunner& runner, const std::string& rank_dir,
                          Phase phase) {
    RankStatus status;
    EXPECT_TRUE(WaitFor([&] {
      runner.Poll(Now());
      status = runner.Observe(rank_dir);
      return status.phase == phase;
    }));
    return status;
  }

  const TempDir dir_;
  absl::Time time_ = absl::UnixEpoch();
};

TEST_F(LocalRunner, StartsExperimentsFromTheWarmParent) {
  const auto runner = Make(/*warm=*/true);
  ASSERT_TRUE(WaitForWarm(*runner));
  const AttemptFolder folder(dir_ / "a",
                             ScriptExperiment("echo $STARTED $RANK; exit 75"));
  ASSERT_TRUE(runner->Start({.attempt_dir = folder.dir()}, false).ok());
  EXPECT_EQ(
      WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded).exit.exit_code,
      75);
  EXPECT_EQ(folder.log(), "warm 0\n");
}

TEST_F(LocalRunner, StartsColdWhileNothingIsWarm) {
  const auto runner = Make(/*warm=*/false);
  const AttemptFolder folder(dir_ / "a", ScriptExperiment("echo $STARTED"));
  ASSERT_TRUE(runner->Start({.attempt_dir = folder.dir()}, false).ok());
  WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded);
  EXPECT_EQ(folder.log(), "cold\n");
}

TEST_F(LocalRunner, HandsTheRendezvousSocketOnWarmAndCold) {
  for (const bool warm : {true, false}) {
    SCOPED_TRACE(warm);
    const auto runner = Make(warm);
    ASSERT_TRUE(!warm || WaitForWarm(*runner));
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(listen(fd, 5), 0);
    const AttemptFolder folder(
        dir_ / (warm ? "warm" : "cold"),
        ScriptExperiment("readlink /proc/self/fd/$LISTEN_FD"));
    ASSERT_TRUE(
        runner->Start({.attempt_dir = folder.dir(), .listen_fd = fd}, false)
            .ok());
    close(fd);
    WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded);
    EXPECT_THAT(folder.log(), HasSubstr("socket:["));
  }
}

TEST_F(LocalRunner, RanksOutliveAgentAndWarmParentAndAreTakenOver) {
  auto runner = Make(/*warm=*/true);
  ASSERT_TRUE(WaitForWarm(*runner));
  const AttemptFolder folder(
      dir_ / "a", ScriptExperiment("echo $$ > up; while [ ! -e go ]; do sleep "
                                   "0.01; done; exit 3"));
  ASSERT_TRUE(runner->Start({.attempt_dir = folder.dir()}, false).ok());
  const int64_t rank = WaitForNumber(folder.file("up"));
  runner.reset();  // takes the warm parent down, as a dead agent does
  EXPECT_TRUE(ProcessExists(rank));

  runner = Make(/*warm=*/false);
  WaitForPhase(*runner, folder.rank_dir(), Phase::kRunning);
  Append(folder.file("go"), "now");
  EXPECT_EQ(
      WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded).exit.exit_code,
      3);
}

TEST_F(LocalRunner, StopsAndKillsWhatAnotherAgentStarted) {
  auto runner = Make(/*warm=*/false);
  const AttemptFolder folder(dir_ / "a",
                             ScriptCommand("echo $$ > up; exec sleep 1000"));
  ASSERT_TRUE(runner->Start({.attempt_dir = folder.dir()}, true).ok());
  WaitForNumber(folder.file("up"));
  runner = Make(/*warm=*/false);
  WaitForPhase(*runner, folder.rank_dir(), Phase::kRunning);
  runner->Stop(folder.rank_dir());
  const RankStatus status =
      WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded);
  EXPECT_EQ(status.exit.term_signal, SIGTERM);
  EXPECT_TRUE(status.exit.stopped);
}

TEST_F(LocalRunner, ARankWhoseKeeperWasKilledIsLostForGood) {
  const auto runner = Make(/*warm=*/false);
  const AttemptFolder folder(
      dir_ / "a",
      ScriptCommand("sleep 1000 & echo $! > child; echo $$ > up; wait"));
  ASSERT_TRUE(runner->Start({.attempt_dir = folder.dir()}, true).ok());
  const int64_t child = WaitForNumber(folder.file("child"));
  WaitForNumber(folder.file("up"));
  WaitForPhase(*runner, folder.rank_dir(), Phase::kRunning);
  kill(static_cast<pid_t>(link::ReadKeeper(folder.rank_dir())->pid), SIGKILL);
  EXPECT_EQ(
      WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded).exit.term_signal,
      SIGKILL);
  EXPECT_FALSE(keeper::StartTicks(static_cast<pid_t>(child)).has_value());
  EXPECT_TRUE(link::ReadExit(folder.rank_dir()).has_value());
}

TEST_F(LocalRunner, ARankOfAnotherBootIsLost) {
  const auto runner = Make(/*warm=*/false);
  const AttemptFolder folder(dir_ / "a", ScriptCommand("true"));
  // A process that lives, under the number of a keeper before the reboot.
  link::KeeperRecord before = keeper::IdentityOf(getpid());
  before.boot_id = "another boot";
  link::WriteKeeper(folder.rank_dir(), before);
  EXPECT_EQ(runner->Observe(folder.rank_dir()).phase, Phase::kEnded);
}

TEST_F(LocalRunner, StartsANewWarmParentWhenItDies) {
  const auto runner = Make(/*warm=*/true);
  ASSERT_TRUE(WaitForWarm(*runner));
  // The one child of this test that waits for requests.
  for (const pid_t pid : keeper::Descendants(getpid())) kill(pid, SIGKILL);
  ASSERT_TRUE(WaitFor([&] {
    runner->Poll(Now());
    return !runner->is_warm();
  }));
  EXPECT_TRUE(WaitForWarm(*runner));
}

TEST_F(LocalRunner, ManyStartsLeaveNoFileOpen) {
  const auto runner = Make(/*warm=*/true);
  ASSERT_TRUE(WaitForWarm(*runner));
  int before = 0;
  for (int i = 0; i < 60; ++i) {
    const AttemptFolder folder(
        dir_ / std::to_string(i),
        i % 10 == 0 ? ScriptCommand("true") : ScriptExperiment("true"));
    ASSERT_TRUE(runner->Start({.attempt_dir = folder.dir()}, i % 10 == 0).ok());
    WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded);
    runner->Forget(folder.rank_dir());
    if (i == 10) before = NumOpenFiles();
  }
  EXPECT_LE(NumOpenFiles(), before);
}

TEST_F(LocalRunner, ReportsAKeeperThatCannotBeStarted) {
  LocalRankRunner runner({.trainer = "/nonexistent/trainer",
                          .keeper = "/nonexistent/keeper",
                          .log_path = dir_ / "warm.log",
                          .warm = false});
  const AttemptFolder folder(dir_ / "a", ScriptCommand("true"));
  const absl::Status status = runner.Start({.attempt_dir = folder.dir()}, true);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/keeper"));
  EXPECT_EQ(runner.Observe(folder.rank_dir()).phase, Phase::kAbsent);
}

}  // namespace
}  // namespace epochd::process
