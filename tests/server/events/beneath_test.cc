// SPDX-License-Identifier: Apache-2.0
#include "server/events/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
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

TEST(BeneathTest, WhatWentWrongIsToldByWhatTheCallerCanDo) {
  using Code = absl::StatusCode;
  const struct {
    int error;
    Code code;
  } kRows[] = {{ENOENT, Code::kNotFound},
               {ENOSPC, Code::kResourceExhausted},
               {EDQUOT, Code::kResourceExhausted},
               {EMFILE, Code::kResourceExhausted},
               {ENFILE, Code::kResourceExhausted},
               {ELOOP, Code::kPermissionDenied},
               {ENOTDIR, Code::kPermissionDenied},
               {EACCES, Code::kPermissionDenied},
               {EPERM, Code::kPermissionDenied},
               {EIO, Code::kInternal},
               {EROFS, Code::kInternal}};
  for (const auto& row : kRows) {
    const absl::Status status = ErrnoStatus(row.error, "it", "cannot be");
    EXPECT_EQ(status.code(), row.code) << row.error;
    EXPECT_EQ(status.message(),
              std::string("it: cannot be: ") + std::strerror(row.error));
  }
}

TEST(BeneathTest, AFullDiskIsToldAsOne) {
  const File full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.is_open());
  EXPECT_EQ(WriteAt(full, "x", 0, "log").code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(WriteAt(full, "", 0, "log").ok()) << "nothing is to be written";
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

TEST_F(BeneathFolderTest, RemovesAFileOrLinkInPlaceOfATree) {
  std::ofstream(temp_ / "root/file") << "x";
  fs::create_directory_symlink(temp_ / "outside", temp_ / "root/link");
  EXPECT_TRUE(RemoveTree(root_, "file").ok());
  EXPECT_TRUE(RemoveTree(root_, "link").ok());
  EXPECT_TRUE(RemoveTree(root_, "nothing").ok());
  EXPECT_EQ(RemoveTree(root_, "../outside").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(NamesIn(root_)->empty());
  EXPECT_TRUE(fs::exists(temp_ / "outside/secret"));
}

TEST_F(BeneathFolderTest, ReadsWhatIsThereAndNoMore) {
  std::ofstream(temp_ / "root/log") << "abc";
  const auto file = OpenFileIn(root_, "log", O_RDONLY);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*ReadAt(*file, 1, 100, "log"), "bc");
  EXPECT_EQ(*ReadAt(*file, 3, 100, "log"), "");
  EXPECT_EQ(ReadAt(*file, -1, 1, "log").status().code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(OpenFileIn(root_, "gone", O_RDONLY).status().code(),
            absl::StatusCode::kNotFound);
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
