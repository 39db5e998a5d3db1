// SPDX-License-Identifier: Apache-2.0
#include "server/events/file_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/time/clock.h"
#include "tests/temp_folder.h"

namespace epochd::events {
namespace {

using testing::HasSubstr;

constexpr char kHashOfAbc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kHashOfNothing[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

class FileStoreTest : public testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen() {
    auto opened =
        FileStore::Open({.root = temp_ / "files", .max_file_bytes = 8});
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  int NumRegularFiles() {
    int files = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(temp_ / "files")) {
      files += entry.is_regular_file();
    }
    return files;
  }

  TempFolder temp_;
  std::unique_ptr<FileStore> store_;
};

TEST_F(FileStoreTest, KeepsContentUnderItsHash) {
  auto upload = store_->Begin(kHashOfAbc);
  ASSERT_TRUE(upload.ok()) << upload.status();
  EXPECT_TRUE((*upload)->Append("a").ok());
  EXPECT_TRUE((*upload)->Append("bc").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Use(kHashOfAbc).status()))
      << "not there before it is whole";
  EXPECT_EQ(*(*upload)->Finish(), 3);
  upload->reset();
  EXPECT_EQ(*store_->Use(kHashOfAbc), 3);
  EXPECT_EQ(*store_->Read(kHashOfAbc, 1, 100), "bc");
  EXPECT_EQ(*store_->Read(kHashOfAbc, 3, 100), "");
  EXPECT_EQ(NumRegularFiles(), 1);
}

TEST_F(FileStoreTest, TheSameFileTwiceIsFine) {
  for (int i = 0; i < 2; ++i) {
    auto upload = store_->Begin(kHashOfAbc);
    ASSERT_TRUE((*upload)->Append("abc").ok());
    EXPECT_TRUE((*upload)->Finish().ok());
  }
  EXPECT_EQ(NumRegularFiles(), 1);
}

TEST_F(FileStoreTest, AnEmptyFileIsAFile) {
  ASSERT_TRUE((*store_->Begin(kHashOfNothing))->Finish().ok());
  EXPECT_EQ(*store_->Use(kHashOfNothing), 0);
}

TEST_F(FileStoreTest, OtherContentThanPromisedIsRefusedAndLeavesNothing) {
  auto upload = store_->Begin(kHashOfAbc);
  ASSERT_TRUE((*upload)->Append("abd").ok());
  const auto finished = (*upload)->Finish();
  EXPECT_EQ(finished.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(finished.status().message()),
              HasSubstr("another hash"));
  upload->reset();
  EXPECT_EQ(NumRegularFiles(), 0);
}

TEST_F(FileStoreTest, RefusesMoreThanTheLimit) {
  auto upload = store_->Begin(kHashOfAbc);
  EXPECT_TRUE((*upload)->Append("12345678").ok());
  EXPECT_EQ((*upload)->Append("9").code(),
            absl::StatusCode::kResourceExhausted);
  upload->reset();
  EXPECT_EQ(NumRegularFiles(), 0);
}

TEST_F(FileStoreTest, RemovesWhatACrashedUploadLeft) {
  std::ofstream(temp_ / "files/incoming/leftover") << "half";
  Reopen();
  EXPECT_EQ(NumRegularFiles(), 0);
}

TEST_F(FileStoreTest, OnlyHashesNameFiles) {
  const std::string bad[] = {"",
                             "abc",
                             "../../../../etc/passwd",
                             std::string(64, 'A'),
                             std::string(63, 'a'),
                             std::string(65, 'a'),
                             std::string(63, 'a') + "\n",
                             std::string(60, 'a') + "/../"};
  for (const std::string& hash : bad) {
    EXPECT_EQ(store_->Begin(hash).status().code(),
              absl::StatusCode::kInvalidArgument)
        << hash;
    EXPECT_EQ(store_->Read(hash, 0, 1).status().code(),
              absl::StatusCode::kInvalidArgument)
        << hash;
  }
}

TEST_F(FileStoreTest, DoesNotReadThroughALink) {
  std::filesystem::create_directory(temp_ / "files/ba");
  std::ofstream(temp_ / "secret") << "x";
  std::filesystem::create_symlink(
      temp_ / "secret", temp_ / (std::string("files/ba/") + kHashOfAbc));
  EXPECT_EQ(store_->Read(kHashOfAbc, 0, 1).status().code(),
            absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace epochd::events
