// SPDX-License-Identifier: Apache-2.0
#include "worker/link/command_socket.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "tests/worker/link/temp_dir.h"
#include "worker/link/command.h"

namespace epochd::link {
namespace {

TEST(CommandSocket, DeliversCommandsInOrder) {
  const TempDir dir;
  CommandSocket socket(dir / "control.sock");
  EXPECT_FALSE(socket.Receive().has_value());
  ASSERT_TRUE(CommandSocket::Send(dir / "control.sock",
                                  {.name = "lease", .deadline_ns = 5}));
  ASSERT_TRUE(CommandSocket::Send(dir / "control.sock",
                                  {.name = "recorded", .offset = 77}));
  EXPECT_EQ(socket.Wait(1000)->deadline_ns, 5);
  EXPECT_EQ(socket.Wait(1000)->offset, 77);
  EXPECT_FALSE(socket.Wait(0).has_value());
}

TEST(CommandSocket, WorksWithPathsLongerThanASocketName) {
  const TempDir dir;
  const std::string deep =
      dir / (std::string(100, 'a') + "/" + std::string(100, 'b'));
  std::filesystem::create_directories(deep);
  CommandSocket socket(deep + "/control.sock");
  ASSERT_TRUE(CommandSocket::Send(deep + "/control.sock", {.name = "stacks"}));
  EXPECT_EQ(socket.Wait(1000)->name, kStacks);
}

TEST(CommandSocket, ReplacesTheSocketOfADeadProcessAndRemovesItsOwn) {
  const TempDir dir;
  const std::string path = dir / "control.sock";
  Append(path, "left over");
  {
    CommandSocket socket(path);
    EXPECT_TRUE(CommandSocket::Send(path, {.name = "stacks"}));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(CommandSocket::Send(path, {.name = "stacks"}));
}

TEST(CommandSocket, AFullQueueNeverBlocksTheSender) {
  const TempDir dir;
  CommandSocket socket(dir / "control.sock");
  int sent = 0;
  while (sent < 100000 &&
         CommandSocket::Send(dir / "control.sock", {.name = "lease"})) {
    ++sent;
  }
  EXPECT_LT(sent, 100000);
  EXPECT_TRUE(socket.Receive().has_value());
}

TEST(CommandSocket, RefusesAFolderThatIsNotThere) {
  EXPECT_THROW(CommandSocket("/nonexistent/control.sock"), std::system_error);
}

TEST(ParseCommand, SkipsWhatIsNotACommand) {
  for (const char* text : {"", "x", "[]", "{}", R"({"command": 3})"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(ParseCommand(text).has_value());
  }
  EXPECT_EQ(ParseCommand(R"({"command": "new", "x": 1})")->name, "new");
  EXPECT_EQ(
      ParseCommand(R"({"command": "lease", "deadline_ns": "x"})")->deadline_ns,
      0);
}

}  // namespace
}  // namespace epochd::link
