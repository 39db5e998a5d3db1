// SPDX-License-Identifier: Apache-2.0
#include "server/events/file_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

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

TEST_F(FileStoreTest, ReadsNothingOutsideTheFile) {
  auto upload = store_->Begin(kHashOfAbc);
  ASSERT_TRUE((*upload)->Append("abc").ok());
  ASSERT_TRUE((*upload)->Finish().ok());
  EXPECT_EQ(*store_->Read(kHashOfAbc, 0, 2), "ab");
  for (const auto& [offset, size] : std::vector<std::pair<int64_t, int64_t>>{
           {-1, 5}, {4, 1}, {INT64_MAX, 1}, {0, 0}, {0, -1}}) {
    const auto read = store_->Read(kHashOfAbc, offset, size);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, "") << offset << ", " << size;
  }
  EXPECT_EQ(store_->Read(kHashOfNothing, 0, 1).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(FileStoreTest, TwoUploadsOfOneFileDoNotDisturbEachOther) {
  auto first = store_->Begin(kHashOfAbc);
  auto second = store_->Begin(kHashOfAbc);
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE((*first)->Append("ab").ok());
  ASSERT_TRUE((*second)->Append("abc").ok());
  ASSERT_TRUE((*second)->Finish().ok());
  first->reset();  // given up half-way
  EXPECT_EQ(*store_->Read(kHashOfAbc, 0, 100), "abc");
  EXPECT_EQ(NumRegularFiles(), 1);
}

TEST_F(FileStoreTest, ListsWhatIsStoredAndNothingThatLiesThereByChance) {
  EXPECT_TRUE(store_->List()->empty());
  auto upload = store_->Begin(kHashOfAbc);
  ASSERT_TRUE((*upload)->Append("abc").ok());
  ASSERT_TRUE((*upload)->Finish().ok());
  // Half of another, a name that is no hash, and a hash on another's shelf.
  auto half = store_->Begin(kHashOfNothing);
  std::ofstream(temp_ / "files/ba/notes") << "x";
  std::ofstream(temp_ / ("files/ba/" + std::string(kHashOfNothing))) << "x";
  std::ofstream(temp_ / "files/README") << "x";
  EXPECT_EQ(*store_->List(), std::vector<std::string>{kHashOfAbc});
}

TEST_F(FileStoreTest, OnlyWhatWasNotUsedForLongIsRemoved) {
  auto upload = store_->Begin(kHashOfAbc);
  ASSERT_TRUE((*upload)->Append("abc").ok());
  ASSERT_TRUE((*upload)->Finish().ok());
  const absl::Time now = absl::Now();
  ASSERT_TRUE(
      store_->RemoveUnlessUsedSince(kHashOfAbc, now - absl::Hours(1)).ok());
  EXPECT_TRUE(store_->Use(kHashOfAbc).ok());
  ASSERT_TRUE(
      store_->RemoveUnlessUsedSince(kHashOfAbc, now + absl::Hours(1)).ok());
  EXPECT_EQ(store_->Use(kHashOfAbc).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(store_->RemoveUnlessUsedSince(kHashOfAbc, now).ok())
      << "gone already";
  EXPECT_EQ(store_->RemoveUnlessUsedSince("x", now).code(),
            absl::StatusCode::kInvalidArgument);
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
