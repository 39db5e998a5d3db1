// SPDX-License-Identifier: Apache-2.0
#include "program/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace epochd::program {
namespace {

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = ::testing::TempDir() + "epochd_file.XXXXXX";
    ASSERT_NE(::mkdtemp(dir_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::string Path(const std::string& name) const { return dir_ + "/" + name; }

  std::string dir_;
};

mode_t Mode(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

TEST_F(FileTest, ReplacesContentAndMode) {
  ASSERT_TRUE(ReplaceFile(Path("a"), "old", 0644).ok());
  ASSERT_TRUE(ReplaceFile(Path("a"), "new", 0600).ok());
  EXPECT_EQ(ReadFile(Path("a"), 100).value(), "new");
  EXPECT_EQ(Mode(Path("a")), 0600u);
}

TEST_F(FileTest, LeavesNoTemporaryWhenTheTargetIsAFolder) {
  ASSERT_TRUE(MakePrivateDir(Path("folder/inner")).ok());
  EXPECT_FALSE(ReplaceFile(Path("folder"), "x", 0600).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_), {}), 1);
}

TEST_F(FileTest, MakesThePrivateFolderPrivateOnly) {
  ASSERT_TRUE(MakePrivateDir(Path("a/b/c")).ok());
  EXPECT_EQ(Mode(Path("a/b/c")), 0700u);
  EXPECT_TRUE(MakePrivateDir(Path("a/b/c")).ok());
}

TEST_F(FileTest, ReadTellsMissingFromTooLarge) {
  EXPECT_EQ(ReadFile(Path("none"), 10).status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(ReplaceFile(Path("big"), std::string(11, 'x'), 0600).ok());
  EXPECT_EQ(ReadFile(Path("big"), 10).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(FileTest, ReadsAPipeThatIsWrittenToAndRefusesOneThatIsNot) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(Path("pipe"), 10).status().code(),
            absl::StatusCode::kFailedPrecondition);
  // Open at both ends before the writer starts, what it writes neither comes
  // too late nor goes with its end: it may be done before the reader opens.
  const int keeps =
      ::open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int writes = ::open(Path("pipe").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(keeps, 0);
  ASSERT_GE(writes, 0);
  std::thread writer([writes] {
    EXPECT_EQ(::write(writes, "text", 4), 4);
    ::close(writes);
  });
  const absl::StatusOr<std::string> read = ReadFile(Path("pipe"), 10);
  writer.join();
  ::close(keeps);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, "text");
}

}  // namespace
}  // namespace epochd::program
