// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "tests/client/epochctl/harness.h"

namespace epochd::epochctl {
namespace {

// Waits for `condition`, at most a minute.
template <typename Condition>
bool Await(const Condition& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ChildProcess, KeepsItsOutputAndTellsHowItEnded) {
  const TempFolder folder;
  const std::string log = folder.path() + "/log";
  auto child = ChildProcess::Start(
      {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, log);
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_TRUE(Await([&] { return (*child)->Ended().has_value(); }));
  EXPECT_EQ((*child)->Ended(), "exit code 3");
  EXPECT_EQ(Content(log), "out\nerr\n");
}

TEST(ChildProcess, EndsByTermOrAfterItsGraceByKill) {
  const TempFolder folder;
  const std::string log = folder.path() + "/log";
  auto child = ChildProcess::Start({"/bin/sleep", "100"}, log);
  ASSERT_TRUE(child.ok());
  EXPECT_FALSE((*child)->Ended().has_value());
  (*child)->Stop(absl::Minutes(1));
  EXPECT_EQ((*child)->Ended(), "signal 15");
  child = ChildProcess::Start(
      {"/bin/sh", "-c",
       "trap '' TERM; echo ready; while :; do sleep 0.1; done"},
      log);
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(Await([&] { return Content(log) == "ready\n"; }));
  (*child)->Stop(absl::Milliseconds(20));
  EXPECT_EQ((*child)->Ended(), "signal 9");
}

TEST(ChildProcess, IsAskedToEndWhenItsParentIsKilled) {
  const TempFolder folder;
  const std::string log = folder.path() + "/log";
  const pid_t parent = fork();
  if (parent == 0) {
    auto child = ChildProcess::Start(
        {"/bin/sh", "-c",
         "trap 'echo term; exit' TERM; echo ready; while :; do sleep 0.05; "
         "done"},
        log);
    pause();
    _exit(1);
  }
  ASSERT_GT(parent, 0);
  ASSERT_TRUE(Await([&] { return Content(log) == "ready\n"; }));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(Await([&] { return Content(log) == "ready\nterm\n"; }));
}

TEST(ChildProcess, KeepsOurSettingsFromTheChild) {
  const TempFolder folder;
  const std::string log = folder.path() + "/log";
  setenv("EPOCHD_SERVER", "other:1", 1);
  auto child = ChildProcess::Start(
      {"/bin/sh", "-c", "echo \"<$EPOCHD_SERVER>\" ${PATH:+path}"}, log);
  unsetenv("EPOCHD_SERVER");
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(Await([&] { return (*child)->Ended().has_value(); }));
  EXPECT_EQ(Content(log), "<> path\n");
}

TEST(ChildProcess, NamesAProgramThatIsNotThere) {
  const TempFolder folder;
  const auto child =
      ChildProcess::Start({"/nowhere/epochd"}, folder.path() + "/log");
  EXPECT_EQ(child.status().message(),
            "no program '/nowhere/epochd' beside this one");
}

}  // namespace
}  // namespace epochd::epochctl
