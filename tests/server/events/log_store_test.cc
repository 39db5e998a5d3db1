// SPDX-License-Identifier: Apache-2.0
#include "server/events/log_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <thread>

#include "tests/temp_folder.h"

namespace epochd::events {
namespace {

const job::JobId kJob(1, 2);
const job::JobId kOther(3, 4);

using N = job::AttemptNumber;

LogKey Key(job::JobId job, int32_t attempt, int32_t rank) {
  return {{job, job::AttemptNumber(attempt)}, rank};
}

using testing::ElementsAre;
using testing::IsEmpty;

class LogStoreTest : public testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen(std::int64_t limit = 1024) {
    auto opened =
        LogStore::Open({.root = temp_ / "logs", .max_log_bytes = limit});
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  std::string ReadAll(const LogKey& key) {
    return store_->Read(key, 0, 1 << 20)->data;
  }

  TempFolder temp_;
  std::unique_ptr<LogStore> store_;
  const LogKey key_ = Key(kJob, 1, 0);
};

TEST_F(LogStoreTest, AppendingReturnsTheNextOffset) {
  EXPECT_EQ(store_->Append(key_, 0, "abc")->next_offset, 3);
  EXPECT_EQ(store_->Append(key_, 3, "def")->next_offset, 6);
  EXPECT_EQ(ReadAll(key_), "abcdef");
}

TEST_F(LogStoreTest, BytesSeenBeforeAreSkipped) {
  ASSERT_TRUE(store_->Append(key_, 0, "abc").ok());
  EXPECT_EQ(store_->Append(key_, 0, "abc")->next_offset, 3);
  EXPECT_EQ(store_->Append(key_, 1, "bcde")->next_offset, 5);
  EXPECT_EQ(store_->Append(key_, 0, "a")->next_offset, 5);
  EXPECT_EQ(ReadAll(key_), "abcde");
}

TEST_F(LogStoreTest, AGapIsRefusedAndSaysWhereToGoOn) {
  ASSERT_TRUE(store_->Append(key_, 0, "abc").ok());
  const auto gap = store_->Append(key_, 10, "xyz");
  ASSERT_TRUE(gap.ok());
  EXPECT_EQ(gap->next_offset, 3);
  EXPECT_EQ(ReadAll(key_), "abc");
}

TEST_F(LogStoreTest, StopsAtTheLimitAndSaysSo) {
  Reopen(5);
  EXPECT_FALSE(store_->Append(key_, 0, "abcd")->full);
  const auto last = store_->Append(key_, 4, "efgh");
  EXPECT_EQ(last->next_offset, 5);
  EXPECT_TRUE(last->full);
  EXPECT_TRUE(store_->Append(key_, 5, "more")->full);
  const auto chunk = store_->Read(key_, 0, 100);
  EXPECT_EQ(chunk->data, "abcde");
  EXPECT_TRUE(chunk->full);
}

TEST_F(LogStoreTest, ReadsFromAnOffsetInPieces) {
  ASSERT_TRUE(store_->Append(key_, 0, "abcdef").ok());
  const auto chunk = store_->Read(key_, 2, 3);
  EXPECT_EQ(chunk->data, "cde");
  EXPECT_EQ(chunk->size, 6);
  EXPECT_THAT(store_->Read(key_, 6, 3)->data, IsEmpty());
  EXPECT_THAT(store_->Read(key_, 60, 3)->data, IsEmpty());
  EXPECT_THAT(store_->Read(Key(kOther, 1, 0), 0, 3)->data, IsEmpty());
}

TEST_F(LogStoreTest, KeepsLogsAcrossAReopen) {
  ASSERT_TRUE(store_->Append(key_, 0, "abc").ok());
  Reopen();
  EXPECT_EQ(store_->Append(key_, 1, "bcd")->next_offset, 4);
  EXPECT_EQ(ReadAll(key_), "abcd");
}

TEST_F(LogStoreTest, ListsAttemptsOfARankInNumericOrder) {
  for (int attempt : {10, 2, 1}) {
    ASSERT_TRUE(store_->Append(Key(kJob, attempt, 0), 0, "x").ok());
  }
  ASSERT_TRUE(store_->Append(Key(kJob, 3, 1), 0, "x").ok());
  EXPECT_THAT(*store_->Attempts(kJob, 0), ElementsAre(N(1), N(2), N(10)));
  EXPECT_THAT(*store_->Attempts(kJob, 1), ElementsAre(N(3)));
  EXPECT_THAT(*store_->Attempts(kOther, 0), IsEmpty());
}

TEST_F(LogStoreTest, DeletesAllOfAJobAndNothingElse) {
  ASSERT_TRUE(store_->Append(Key(kJob, 1, 0), 0, "x").ok());
  ASSERT_TRUE(store_->Append(Key(kJob, 2, 3), 0, "x").ok());
  ASSERT_TRUE(store_->Append(Key(kOther, 1, 0), 0, "keep").ok());
  EXPECT_TRUE(store_->Delete(kJob).ok());
  EXPECT_TRUE(store_->Delete(kJob).ok());
  EXPECT_FALSE(std::filesystem::exists(temp_ / ("logs/" + kJob.ToString())));
  EXPECT_EQ(ReadAll(Key(kOther, 1, 0)), "keep");
}

TEST_F(LogStoreTest, KeysThatCannotBeAreRefused) {
  const LogKey bad[] = {Key(kJob, 0, 0), Key(kJob, -1, 0), Key(kJob, 1, -1),
                        Key(job::JobId(), 1, 0)};
  for (const LogKey& key : bad) {
    EXPECT_EQ(store_->Append(key, 0, "x").status().code(),
              absl::StatusCode::kInvalidArgument)
        << key.attempt.ResourceName() << " " << key.rank;
    EXPECT_FALSE(store_->Read(key, 0, 1).ok());
  }
  EXPECT_FALSE(store_->Append(key_, -1, "x").ok());
}

TEST_F(LogStoreTest, FindsTheJobsThatHaveLogsAndNothingElse) {
  EXPECT_THAT(*store_->Jobs(), IsEmpty());
  ASSERT_TRUE(store_->Append(Key(kOther, 1, 0), 0, "x").ok());
  ASSERT_TRUE(store_->Append(Key(kJob, 1, 0), 0, "x").ok());
  std::filesystem::create_directory(temp_ / "logs/lost+found");
  std::filesystem::create_directory(temp_ / "logs/notes");
  EXPECT_THAT(*store_->Jobs(), testing::UnorderedElementsAre(kJob, kOther));
}

TEST_F(LogStoreTest, WhatLiesInAJobsFolderByChanceIsNoAttempt) {
  ASSERT_TRUE(store_->Append(Key(kJob, 2, 0), 0, "x").ok());
  const std::string folder = temp_ / ("logs/" + kJob.ToString());
  for (const char* name : {"0", "-1", "x", "2x", "99999999999", "7"}) {
    std::filesystem::create_directory(folder + "/" + name);
  }
  EXPECT_THAT(*store_->Attempts(kJob, 0), ElementsAre(N(2)));
}

TEST_F(LogStoreTest, ALimitThatBecameSmallerKeepsWhatIsThere) {
  ASSERT_TRUE(store_->Append(key_, 0, "abcdef").ok());
  Reopen(4);
  const auto appended = store_->Append(key_, 6, "gh");
  ASSERT_TRUE(appended.ok());
  EXPECT_EQ(appended->next_offset, 6);
  EXPECT_TRUE(appended->full);
  EXPECT_EQ(ReadAll(key_), "abcdef");
}

TEST_F(LogStoreTest, NothingIsReadBeforeTheBeginning) {
  ASSERT_TRUE(store_->Append(key_, 0, "abc").ok());
  const auto chunk = store_->Read(key_, -1, 10);
  ASSERT_TRUE(chunk.ok());
  EXPECT_THAT(chunk->data, IsEmpty());
  EXPECT_EQ(chunk->size, 3);
  EXPECT_THAT(store_->Read(key_, 0, 0)->data, IsEmpty());
  EXPECT_THAT(store_->Read(key_, 0, -5)->data, IsEmpty());
}

TEST_F(LogStoreTest, DoesNotWriteThroughALink) {
  std::filesystem::create_directory(temp_ / "outside");
  std::filesystem::create_directory_symlink(
      temp_ / "outside", temp_ / ("logs/" + kJob.ToString()));
  EXPECT_EQ(store_->Append(key_, 0, "x").status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(std::filesystem::is_empty(temp_ / "outside"));
}

TEST_F(LogStoreTest, WakesFollowersOnceBytesCanBeRead) {
  std::string seen;
  const Subscription follower =
      store_->Subscribe(kJob, [&] { seen = store_->Read(key_, 0, 100)->data; });
  ASSERT_TRUE(store_->Append(key_, 0, "abc").ok());
  EXPECT_EQ(seen, "abc");
  seen.clear();
  ASSERT_TRUE(store_->Append(key_, 0, "abc").ok());
  EXPECT_EQ(seen, "") << "nothing grew";
  ASSERT_TRUE(store_->Append(Key(kOther, 1, 0), 0, "abc").ok());
  EXPECT_EQ(seen, "");
}

TEST_F(LogStoreTest, RepeatedAppendsFromManyThreadsMakeOneLog) {
  Reopen(1 << 20);
  std::string text;
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i)
    text += static_cast<char>('a' + random() % 26);
  const auto send = [&](unsigned seed) {
    std::mt19937 sizes(seed);
    std::int64_t offset = 0;
    while (offset < static_cast<std::int64_t>(text.size())) {
      const std::string piece =
          text.substr(static_cast<std::size_t>(offset), 1 + sizes() % 500);
      offset = store_->Append(key_, offset, piece)->next_offset;
    }
  };
  std::thread other(send, 1);
  send(2);
  other.join();
  EXPECT_EQ(ReadAll(key_), text);
}

}  // namespace
}  // namespace epochd::events
