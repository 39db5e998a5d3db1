// SPDX-License-Identifier: Apache-2.0
#include "worker/process/local_rank_runner.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/worker/process/attempt_fixture.h"
#include "worker/process/keeper/keeper.h"
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

  // Goes with the looks and slower than a real one: a machine that stalls must
  // not make the warm parent's answers late.
  absl::Time Now() {
    time_ += absl::Milliseconds(1);
    return time_;
  }

  // Starts ranks until one is forked from a warm parent.
  bool WaitForWarm(LocalRankRunner& runner) {
    return WaitFor([&] {
      const AttemptFolder probe(
          dir_ / ("probe" + std::to_string(++num_probes_)),
          ScriptExperiment("echo $STARTED"));
      EXPECT_TRUE(runner.Start({.attempt_dir = probe.dir()}, false).ok());
      WaitForPhase(runner, probe.rank_dir(), Phase::kEnded);
      runner.Forget(probe.rank_dir());
      return probe.log() == "warm\n";
    });
  }

  // The warm parent, once it is the only child of this test: what starts a rank
  // may end after it.
  pid_t WarmParent(LocalRankRunner& runner) {
    std::vector<pid_t> children;
    EXPECT_TRUE(WaitFor([&] {
      runner.Poll(Now());
      children = keeper::Descendants(getpid());
      return children.size() == 1;
    }));
    return children.at(0);
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
  int num_probes_ = 0;
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

TEST_F(LocalRunner, AJobDoesNotChooseWhoseCodeItsTrainerRunsWarmAndCold) {
  setenv("EPOCHD_PLUGINS", "/operator/mine.so", 1);
  for (const bool warm : {true, false}) {
    SCOPED_TRACE(warm);
    const auto runner = Make(warm);
    ASSERT_TRUE(!warm || WaitForWarm(*runner));
    link::AttemptSpec spec =
        ScriptExperiment("echo $STARTED $EPOCHD_PLUGINS $LD_PRELOAD $MINE");
    spec.env = {{"EPOCHD_PLUGINS", "/job/evil.so"},
                {"LD_PRELOAD", "/job/evil.so"},
                {"MINE", "yes"}};
    const AttemptFolder folder(dir_ / (warm ? "warm" : "cold"), spec);
    ASSERT_TRUE(runner->Start({.attempt_dir = folder.dir()}, false).ok());
    WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded);
    EXPECT_EQ(folder.log(),
              std::string(warm ? "warm" : "cold") + " /operator/mine.so yes\n");
  }
  unsetenv("EPOCHD_PLUGINS");
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
  const pid_t parent = WarmParent(*runner);
  kill(parent, SIGKILL);
  ASSERT_TRUE(WaitFor([&] {
    runner->Poll(Now());
    return !ProcessExists(parent);
  }));
  EXPECT_TRUE(WaitForWarm(*runner));
}

// Tests run as root, whose forks no limit makes fail: the fake only says so.
TEST_F(LocalRunner, AForkThatFailsInTheWarmParentIsMadeUpForCold) {
  setenv("TORCH_FAKE_CANNOT_FORK", "1", 1);
  const auto runner = Make(/*warm=*/true);
  int number = 0;
  EXPECT_TRUE(WaitFor([&] {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(listen(fd, 5), 0);
    const AttemptFolder folder(
        dir_ / std::to_string(++number),
        ScriptExperiment("echo $STARTED; readlink /proc/self/fd/$LISTEN_FD"));
    EXPECT_TRUE(
        runner->Start({.attempt_dir = folder.dir(), .listen_fd = fd}, false)
            .ok());
    close(fd);
    WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded);
    EXPECT_THAT(folder.log(), HasSubstr("cold\nsocket:["));
    return Slurp(dir_ / "warm.log") == "refused\n";
  }));
  unsetenv("TORCH_FAKE_CANNOT_FORK");
}

TEST_F(LocalRunner, AWarmParentThatDiesOverARequestIsMadeUpForCold) {
  const auto runner = Make(/*warm=*/true);
  ASSERT_TRUE(WaitForWarm(*runner));
  const pid_t parent = WarmParent(*runner);
  kill(parent, SIGSTOP);
  const AttemptFolder folder(dir_ / "a", ScriptExperiment("echo $STARTED"));
  ASSERT_TRUE(runner->Start({.attempt_dir = folder.dir()}, false).ok());
  kill(parent, SIGKILL);
  WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded);
  EXPECT_EQ(folder.log(), "cold\n");
}

TEST_F(LocalRunner, AWarmParentThatHangsIsReplacedAndMadeUpForCold) {
  const auto runner = Make(/*warm=*/true);
  ASSERT_TRUE(WaitForWarm(*runner));
  const pid_t parent = WarmParent(*runner);
  kill(parent, SIGSTOP);
  const AttemptFolder folder(dir_ / "a", ScriptExperiment("echo $STARTED"));
  ASSERT_TRUE(runner->Start({.attempt_dir = folder.dir()}, false).ok());
  runner->Poll(Now());
  time_ += absl::Seconds(11);
  WaitForPhase(*runner, folder.rank_dir(), Phase::kEnded);
  EXPECT_EQ(folder.log(), "cold\n");
  EXPECT_FALSE(ProcessExists(parent));
  EXPECT_TRUE(WaitForWarm(*runner));
}

TEST_F(LocalRunner, AKeeperThatCannotForkIsReportedAtOnce) {
  LocalRankRunner runner({.trainer = FAKE_TRAINER,
                          .keeper = "/bin/false",
                          .log_path = dir_ / "warm.log",
                          .warm = false});
  const AttemptFolder folder(dir_ / "a", ScriptExperiment("true"));
  ASSERT_TRUE(runner.Start({.attempt_dir = folder.dir()}, false).ok());
  const RankStatus status =
      WaitForPhase(runner, folder.rank_dir(), Phase::kEnded);
  EXPECT_EQ(status.exit.exit_code, 71);
  EXPECT_FALSE(status.exit.stopped);
  EXPECT_THAT(folder.log(), HasSubstr("the rank cannot be started: fork: "));
}

TEST_F(LocalRunner, ARankThatWasGivenUpIsNeverStarted) {
  const auto runner = Make(/*warm=*/false);
  const AttemptFolder folder(dir_ / "a", ScriptExperiment("echo lives"));
  EXPECT_TRUE(runner->GiveUp(folder.rank_dir()));
  const RankStatus status = runner->Observe(folder.rank_dir());
  EXPECT_EQ(status.phase, Phase::kEnded);
  EXPECT_TRUE(status.exit.stopped);
  // Its keeper comes all the same.
  const pid_t late = fork();
  if (late == 0) {
    _exit(keeper::RunKeeper({.attempt_dir = folder.dir()},
                            [](const keeper::RankRequest&) { return 0; }));
  }
  int ended = 0;
  ASSERT_EQ(waitpid(late, &ended, 0), late);
  EXPECT_EQ(WEXITSTATUS(ended), 1);
  EXPECT_EQ(folder.log(), "");
  EXPECT_FALSE(link::ReadKeeper(folder.rank_dir()).has_value());
}

TEST_F(LocalRunner, ARankWhoseKeeperIsComingUpIsNotGivenUp) {
  const auto runner = Make(/*warm=*/false);
  const AttemptFolder folder(dir_ / "a", ScriptExperiment("true"));
  // What a keeper does first.
  const int lock =
      open(folder.rank_dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  EXPECT_FALSE(runner->GiveUp(folder.rank_dir()));
  EXPECT_EQ(runner->Observe(folder.rank_dir()).phase, Phase::kAbsent);
  close(lock);
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
