// SPDX-License-Identifier: Apache-2.0
#include "server/events/beneath.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/temp_folder.h"

namespace epochd::events {
namespace {

namespace fs = std::filesystem;

TEST(BeneathTest, RefusesNamesThatCouldMeanAnotherPlace) {
  const std::string bad[] = {"",
                             ".",
                             "..",
                             "...",
                             "/etc",
                             "a/b",
                             "../a",
                             "a/../b",
                             "..\\a",
                             std::string("a\0b", 3),
                             "a\nb",
                             "%2e%2e/",
                             "\xe2\x80\xa4\xe2\x80\xa4",
                             std::string(4096, 'a'),
                             "a b"};
  for (const std::string& name : bad) {
    EXPECT_FALSE(IsPlainName(name)) << "'" << name << "'";
  }
  for (const char* name : {"a", "0123abc", "rank-0.log", ".x", "A_b"}) {
    EXPECT_TRUE(IsPlainName(name)) << name;
  }
}

class BeneathFolderTest : public testing::Test {
 protected:
  BeneathFolderTest() : root_(*OpenFolder(temp_ / "root")) {
    fs::create_directory(temp_ / "outside");
    std::ofstream(temp_ / "outside/secret") << "secret";
  }

  TempFolder temp_;
  File root_;
};

TEST_F(BeneathFolderTest, DoesNotFollowAFolderThatIsALink) {
  fs::create_directory_symlink(temp_ / "outside", temp_ / "root/job");
  const auto opened = OpenFolderBeneath(root_, {"job"}, Missing::kMake);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kPermissionDenied)
      << opened.status();
}

TEST_F(BeneathFolderTest, DoesNotFollowAFileThatIsALink) {
  fs::create_symlink(temp_ / "outside/secret", temp_ / "root/log");
  const auto opened = OpenFileIn(root_, "log", O_RDWR);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kPermissionDenied)
      << opened.status();
}

TEST_F(BeneathFolderTest, RefusesAPipeInPlaceOfAFile) {
  ASSERT_EQ(mkfifo((temp_ / "root/log").c_str(), 0600), 0);
  const auto opened = OpenFileIn(root_, "log", O_RDONLY);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kPermissionDenied)
      << opened.status();
}

TEST_F(BeneathFolderTest, RemovesATreeButNotWhatLinksLeadTo) {
  fs::create_directories(temp_ / "root/job/1");
  std::ofstream(temp_ / "root/job/1/file") << "x";
  fs::create_directory_symlink(temp_ / "outside", temp_ / "root/job/link");
  EXPECT_TRUE(RemoveTree(root_, "job").ok());
  EXPECT_FALSE(fs::exists(temp_ / "root/job"));
  EXPECT_TRUE(fs::exists(temp_ / "outside/secret"));
  EXPECT_TRUE(RemoveTree(root_, "job").ok()) << "repeating is fine";
  EXPECT_FALSE(RemoveTree(root_, "..").ok());
}

TEST_F(BeneathFolderTest, MakesFoldersOnlyWhenAsked) {
  EXPECT_TRUE(absl::IsNotFound(
      OpenFolderBeneath(root_, {"a", "b"}, Missing::kFail).status()));
  EXPECT_TRUE(OpenFolderBeneath(root_, {"a", "b"}, Missing::kMake).ok());
  EXPECT_TRUE(OpenFolderBeneath(root_, {"a", "b"}, Missing::kFail).ok());
  EXPECT_FALSE(OpenFolderBeneath(root_, {"a", ".."}, Missing::kFail).ok());
}

}  // namespace
}  // namespace epochd::events
