// SPDX-License-Identifier: Apache-2.0
//
// Keepers with real processes. Each is started as an agent does it cold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/worker/process/attempt_fixture.h"
#include "worker/link/attempt_folder.h"
#include "worker/link/command_socket.h"
#include "worker/link/exit_code.h"
#include "worker/process/keeper/keeper_command.h"
#include "worker/process/keeper/process_tree.h"
#include "worker/process/spawn.h"

namespace epochd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Keeper : public ::testing::Test {
 protected:
  // Starts the rank and waits until its keeper is known.
  void Start(const AttemptFolder& folder) {
    const auto pid = process::Spawn(
        {.arguments = keeper::KeeperArguments(
             FAKE_TRAINER, {.attempt_dir = folder.dir()}, FAKE_TRAINER)});
    ASSERT_TRUE(pid.ok()) << pid.status();
    int status = 0;
    ASSERT_EQ(waitpid(*pid, &status, 0), *pid);
    ASSERT_EQ(status, 0);
    ASSERT_TRUE(WaitFor(
        [&] { return link::ReadKeeper(folder.rank_dir()).has_value(); }));
    keeper_ = *link::ReadKeeper(folder.rank_dir());
  }

  pid_t keeper_pid() const { return static_cast<pid_t>(keeper_.pid); }
  bool KeeperIsGone() {
    return WaitFor([&] { return !keeper::IsAlive(keeper_); });
  }

  const TempDir dir_;
  link::KeeperRecord keeper_;
};

TEST_F(Keeper, WritesHowTheRankEndedAndEnds) {
  const AttemptFolder folder(dir_ / "a", ScriptCommand("exit 7"));
  Start(folder);
  const link::ExitRecord record = folder.WaitForExit();
  EXPECT_EQ(record.exit_code, 7);
  EXPECT_FALSE(record.stopped);
  EXPECT_FALSE(record.oom);
  EXPECT_GT(record.end_ns, 1'600'000'000'000'000'000);
  EXPECT_TRUE(KeeperIsGone());
}

TEST_F(Keeper, TellsTheSignalThatKilledTheRank) {
  const AttemptFolder folder(dir_ / "a", ScriptCommand("kill -SEGV $$"));
  Start(folder);
  EXPECT_EQ(folder.WaitForExit().term_signal, SIGSEGV);
}

TEST_F(Keeper, CapturesAnyBytesToTheLastOneWithoutNewline) {
  const AttemptFolder folder(
      dir_ / "a",
      ScriptCommand(R"(printf 'a\0b\342\202'; printf '\377 err' >&2)"));
  Start(folder);
  folder.WaitForExit();
  EXPECT_EQ(folder.log(), std::string("a\0b\xe2\x82\xff err", 10));
}

TEST_F(Keeper, KillsWhatDoubleForkedAndKeepsStdoutOpen) {
  const AttemptFolder folder(
      dir_ / "a", ScriptCommand("setsid sh -c 'trap \"\" TERM HUP; echo $$ > "
                                "daemon; while :; do sleep 1000; done' & "
                                "while [ ! -s daemon ]; do sleep 0.01; done; "
                                "exit 0"));
  Start(folder);
  EXPECT_EQ(folder.WaitForExit().exit_code, 0);
  const int64_t daemon = WaitForNumber(folder.file("daemon"));
  ASSERT_GT(daemon, 0);
  EXPECT_FALSE(ProcessExists(daemon));
}

TEST_F(Keeper, HandsSigtermOnAndWaitsForTheCheckpoint) {
  const AttemptFolder folder(
      dir_ / "a", ScriptCommand("trap 'echo saved; exit 75' TERM; echo $$ > up;"
                                "while :; do sleep 0.01; done"));
  Start(folder);
  WaitForNumber(folder.file("up"));
  kill(keeper_pid(), SIGTERM);
  const link::ExitRecord record = folder.WaitForExit();
  EXPECT_EQ(record.exit_code, link::kStoppedWithCheckpoint);
  EXPECT_TRUE(record.stopped);
  EXPECT_THAT(folder.log(), HasSubstr("saved\n"));
}

TEST_F(Keeper, KillsATreeThatIgnoresSigtermAfterTheGrace) {
  link::AttemptSpec spec = ScriptCommand(
      "trap '' TERM; (trap '' TERM; while :; do sleep 1000; done) & echo $! > "
      "child; echo $$ > up; while :; do sleep 1000; done");
  spec.stop_grace = 0.2;
  const AttemptFolder folder(dir_ / "a", spec);
  Start(folder);
  const int64_t child = WaitForNumber(folder.file("child"));
  const int64_t rank = WaitForNumber(folder.file("up"));
  kill(keeper_pid(), SIGTERM);
  EXPECT_EQ(folder.WaitForExit().term_signal, SIGKILL);
  EXPECT_FALSE(ProcessExists(child));
  EXPECT_FALSE(ProcessExists(rank));
  EXPECT_THAT(folder.log(), HasSubstr("after SIGTERM: killed"));
}

TEST_F(Keeper, KillsAtOnceWhenToldTo) {
  const AttemptFolder folder(
      dir_ / "a",
      ScriptCommand(
          "trap '' TERM; echo $$ > up; while :; do sleep 1000; done"));
  Start(folder);
  WaitForNumber(folder.file("up"));
  kill(keeper_pid(), SIGQUIT);
  EXPECT_EQ(folder.WaitForExit().term_signal, SIGKILL);
}

TEST_F(Keeper, TakesTheRankAlongWhenItIsKilledAndStraysAreFound) {
  // The child waits in itself: a process within an exec has no environment to
  // be known by.
  const AttemptFolder folder(
      dir_ / "a",
      ScriptCommand("mkfifo pipe; setsid sh -c 'echo $$ > child; read x < pipe'"
                    " & while [ ! -s child ]; do sleep 0.01; done; "
                    "echo $$ > up; sleep 1000"));
  Start(folder);
  const int64_t child = WaitForNumber(folder.file("child"));
  const int64_t rank = WaitForNumber(folder.file("up"));
  kill(keeper_pid(), SIGKILL);
  EXPECT_TRUE(WaitFor([&] {
    return !keeper::StartTicks(static_cast<pid_t>(rank)).has_value();
  }));
  EXPECT_TRUE(WaitFor(
      [&] { return keeper::KillStrays(keeper_, folder.rank_dir()) == 0; }));
  EXPECT_FALSE(keeper::StartTicks(static_cast<pid_t>(child)).has_value());
  EXPECT_FALSE(link::ReadExit(folder.rank_dir()).has_value());
}

TEST_F(Keeper, ASecondKeeperGivesWay) {
  const AttemptFolder folder(
      dir_ / "a", ScriptCommand("echo run >> runs; echo $$ > up; sleep 1000"));
  Start(folder);
  WaitForNumber(folder.file("up"));
  const link::KeeperRecord first = keeper_;
  Start(folder);
  kill(keeper_pid(), SIGQUIT);
  folder.WaitForExit();
  Start(folder);  // not again after the end either
  EXPECT_EQ(keeper_.pid, first.pid);
  EXPECT_EQ(Slurp(folder.file("runs")), "run\n");
}

TEST_F(Keeper, EndsARankOverItsMemory) {
  link::AttemptSpec spec = ScriptCommand(
      "exec perl -e '$x = \"x\" x (256 << 20); select(undef, undef, undef, "
      "1000)'");
  spec.memory_bytes = 64 << 20;
  const AttemptFolder folder(dir_ / "a", spec);
  Start(folder);
  const link::ExitRecord record = folder.WaitForExit();
  EXPECT_TRUE(record.oom);
  EXPECT_EQ(record.term_signal, SIGKILL);
  EXPECT_THAT(folder.log(), HasSubstr("memory:"));
}

TEST_F(Keeper, ANeighbourOfTheSameLimitIsNotCalledOutOfMemory) {  // P-112
  link::AttemptSpec spec = ScriptCommand("echo $$ > up; exec sleep 1000");
  spec.memory_bytes = 64 << 20;
  const AttemptFolder neighbour(dir_ / "a", spec);
  Start(neighbour);
  const int64_t rank = WaitForNumber(neighbour.file("up"));
  spec.command = {"perl", "-e",
                  "$x = \"x\" x (256 << 20); select(undef, undef, undef, "
                  "1000)"};
  const AttemptFolder greedy(dir_ / "b", spec);
  Start(greedy);
  EXPECT_TRUE(greedy.WaitForExit().oom);
  // Killed like one, but by somebody else.
  kill(static_cast<pid_t>(rank), SIGKILL);
  const link::ExitRecord record = neighbour.WaitForExit();
  EXPECT_EQ(record.term_signal, SIGKILL);
  EXPECT_FALSE(record.oom);
}

TEST_F(Keeper, TheKernelEndsTheRankBeforeItsKeeper) {  // P-109
  const AttemptFolder folder(dir_ / "a",
                             ScriptCommand("cat /proc/self/oom_score_adj; "
                                           "cat /proc/$PPID/oom_score_adj"));
  Start(folder);
  folder.WaitForExit();
  EXPECT_EQ(folder.log(), "500\n" + Slurp("/proc/self/oom_score_adj"));
}

TEST_F(Keeper, KeepsARankOnTheCoresOfItsSlots) {  // P-66
  cpu_set_t cores;
  ASSERT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  int core = 0;
  while (!CPU_ISSET(core, &cores)) ++core;
  link::AttemptSpec spec =
      ScriptCommand("grep Cpus_allowed_list /proc/self/status");
  spec.pin_cpus = true;
  spec.ranks.at(0).devices = {"cpu:" + std::to_string(core)};
  const AttemptFolder folder(dir_ / "a", spec);
  Start(folder);
  folder.WaitForExit();
  EXPECT_EQ(folder.log(), "Cpus_allowed_list:\t" + std::to_string(core) + "\n");
}

TEST_F(Keeper, EndsACommandWhoseLeaseIsOver) {
  link::AttemptSpec spec = ScriptCommand("echo $$ > up; sleep 1000");
  spec.self_fence_after = 1000;
  const AttemptFolder folder(dir_ / "a", spec);
  Start(folder);
  WaitForNumber(folder.file("up"));
  ASSERT_TRUE(link::CommandSocket::Send(link::ControlPath(folder.rank_dir()),
                                        {.name = "lease", .deadline_ns = 1}));
  EXPECT_EQ(folder.WaitForExit().exit_code, link::kSelfFenced);
}

TEST_F(Keeper, GivesTheRankACleanEnvironmentAndItsPlace) {
  setenv("EPOCHD_TOKEN", "secret", 1);
  setenv("NCCL_DEBUG", "INFO", 1);
  link::AttemptSpec spec = ScriptCommand("env; pwd; cat; ls /proc/self/fd");
  spec.world_size = 2;
  spec.rendezvous = "127.0.0.1:4711";
  spec.cpus = 3;
  spec.resume = {"/c/best", "/c/last"};
  spec.env = {{"MINE", "a b"}, {"RANK", "17"}};
  const AttemptFolder folder(dir_ / "a", spec);
  Start(folder);
  folder.WaitForExit();
  const std::string log = folder.log();
  for (const char* expected :
       {"MINE=a b\n", "RANK=0\n", "WORLD_SIZE=2\n", "MASTER_ADDR=127.0.0.1\n",
        "MASTER_PORT=4711\n", "OMP_NUM_THREADS=3\n", "NCCL_DEBUG=INFO\n",
        "CUDA_VISIBLE_DEVICES=\n", "EPOCHD_RESUME_FROM=/c/best\n",
        "EPOCHD_OUTPUT_DIR=/tmp/job/attempt-1\n", "/a/files\n",
        "/rank-0/events.jsonl\n", "0\n1\n2\n3\n"}) {
    EXPECT_THAT(log, HasSubstr(expected));
  }
  EXPECT_THAT(log, Not(HasSubstr("secret")));
  EXPECT_THAT(log, Not(HasSubstr("\n4\n")));
}

TEST_F(Keeper, AProgramThatIsNotThereIsABadSpec) {
  link::AttemptSpec spec = ScriptCommand("");
  spec.command = {"no-such-program", "x"};
  const AttemptFolder folder(dir_ / "a", spec);
  Start(folder);
  EXPECT_EQ(folder.WaitForExit().exit_code, 127);
  EXPECT_THAT(folder.log(), HasSubstr("'no-such-program'"));
}

TEST_F(Keeper, ABrokenAttemptFileIsToldInLogAndExit) {
  const AttemptFolder folder(dir_ / "a", ScriptCommand("true"));
  link::ReplaceFile(link::SpecPath(folder.dir()), "{", false);
  Start(folder);
  EXPECT_EQ(folder.WaitForExit().exit_code, link::kInfrastructure);
  EXPECT_THAT(folder.log(), HasSubstr("attempt.json"));
}

}  // namespace
}  // namespace epochd
