// SPDX-License-Identifier: Apache-2.0
#include "server/store/state_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "tests/temp_folder.h"

namespace epochd::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class StateFolderTest : public testing::Test {
 protected:
  TempFolder temp_;
  const std::string path_ = temp_ / "state";
};

TEST_F(StateFolderTest, IsMadeForItsOwnerAlone) {
  const auto folder = StateFolder::Lock(path_);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->path(), path_);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_all);
  EXPECT_FALSE(folder->WasLeftOpen());
}

TEST_F(StateFolderTest, IsHeldByOneUntilItLetsGo) {
  auto first = StateFolder::Lock(path_);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(first->MarkOpen().ok());
  const auto second = StateFolder::Lock(path_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("open pid " + std::to_string(getpid())));
  {
    // Moving it lets nothing go.
    const StateFolder moved = *std::move(first);
    EXPECT_FALSE(StateFolder::Lock(path_).ok());
  }
  EXPECT_TRUE(StateFolder::Lock(path_).ok());
}

TEST_F(StateFolderTest, RemembersWhetherItsHolderSaidGoodbye) {
  {
    auto folder = StateFolder::Lock(path_);
    ASSERT_TRUE(folder->MarkOpen().ok());
  }
  {
    auto folder = StateFolder::Lock(path_);
    EXPECT_TRUE(folder->WasLeftOpen());
    ASSERT_TRUE(folder->MarkOpen().ok());
    ASSERT_TRUE(folder->MarkClosed().ok());
  }
  EXPECT_FALSE(StateFolder::Lock(path_)->WasLeftOpen());
}

TEST_F(StateFolderTest, AMarkThatSomebodyWroteIsReadAsItStands) {
  fs::create_directory(path_);
  for (const auto& [text, left_open] :
       {std::pair("", false), std::pair("closed", false),
        std::pair("open pid 1", true), std::pair("garbage\xff\n", false)}) {
    std::ofstream(path_ + "/lock") << text;
    EXPECT_EQ(StateFolder::Lock(path_)->WasLeftOpen(), left_open) << text;
  }
}

TEST_F(StateFolderTest, WhereItCannotBeIsSaidWithItsPath) {
  std::ofstream(temp_ / "file") << "x";
  const auto below_a_file = StateFolder::Lock(temp_ / "file/state");
  EXPECT_EQ(below_a_file.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(below_a_file.status().message()),
              HasSubstr("file/state"));
  // A link in the lock's place leads nowhere.
  fs::create_directory(path_);
  fs::create_symlink(temp_ / "elsewhere", path_ + "/lock");
  EXPECT_FALSE(StateFolder::Lock(path_).ok());
  EXPECT_FALSE(fs::exists(temp_ / "elsewhere"));
}

}  // namespace
}  // namespace epochd::store
