// SPDX-License-Identifier: Apache-2.0
#include "worker/process/keeper/process_tree.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/worker/process/attempt_fixture.h"
#include "worker/process/spawn.h"

namespace epochd::keeper {
namespace {

TEST(ProcessTree, KnowsItselfAndNoOtherOfItsNumber) {
  link::KeeperRecord self = IdentityOf(getpid());
  EXPECT_TRUE(IsAlive(self));
  EXPECT_GT(self.start_ticks, 0);
  self.start_ticks += 1;
  EXPECT_FALSE(IsAlive(self));
  EXPECT_EQ(OpenPidfd(self), -1);
}

TEST(ProcessTree, AZombieIsNotAliveAndItsPidfdIsReadable) {
  const auto pid = process::Spawn({.arguments = {"/bin/sleep", "1000"}});
  ASSERT_TRUE(pid.ok());
  const link::KeeperRecord record = IdentityOf(*pid);
  const int fd = OpenPidfd(record);
  ASSERT_GE(fd, 0);
  kill(*pid, SIGKILL);
  pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&waited, 1, 60000), 1);
  EXPECT_FALSE(IsAlive(record));
  close(fd);
  waitpid(*pid, nullptr, 0);
}

TEST(ProcessTree, FindsGrandchildren) {
  const TempDir dir;
  const auto pid =
      process::Spawn({.arguments = {"/bin/sh", "-c",
                                    "sh -c 'sleep 1000 & echo $! > " +
                                        (dir / "pid") + "; wait'; true"}});
  ASSERT_TRUE(pid.ok());
  const auto grandchild = static_cast<pid_t>(WaitForNumber(dir / "pid"));
  const auto tree = Descendants(*pid);
  EXPECT_NE(std::find(tree.begin(), tree.end(), grandchild), tree.end());
  EXPECT_GT(ResidentBytes(tree), 0);
  for (const pid_t member : tree) kill(member, SIGKILL);
  kill(*pid, SIGKILL);
  waitpid(*pid, nullptr, 0);
}

}  // namespace
}  // namespace epochd::keeper
