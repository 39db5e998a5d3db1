// SPDX-License-Identifier: Apache-2.0
#include "server/store/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/server/store/fault_vfs.h"
#include "tests/temp_folder.h"

namespace epochd::store {
namespace {

using testing::HasSubstr;

class SqliteTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Connection::Open({.path = path_, .vfs = disk_.name()});
    ASSERT_TRUE(opened.ok()) << opened.status();
    db_ = *std::move(opened);
    ASSERT_TRUE(
        db_->Execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)").ok());
  }
  absl::Status Insert(std::int64_t a, std::string_view b) {
    auto statement = db_->Prepare("INSERT INTO t VALUES (?, ?)");
    return statement.ok() ? statement->Bind(a).BindBlob(b).Run()
                          : statement.status();
  }
  std::int64_t Count() { return *db_->QueryInt("SELECT count(*) FROM t"); }

  TempFolder temp_;
  const std::string path_ = temp_ / "db";
  FaultVfs disk_;
  std::unique_ptr<Connection> db_;
};

TEST_F(SqliteTest, BindsAndReadsEveryByte) {
  const std::string bytes("a\0b\xff", 4);
  ASSERT_TRUE(Insert(std::numeric_limits<std::int64_t>::min(), bytes).ok());
  ASSERT_TRUE(Insert(1, "").ok());
  auto query = db_->Prepare("SELECT a, b FROM t ORDER BY a");
  ASSERT_TRUE(*query->Step());
  EXPECT_EQ(query->Int(0), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(query->Bytes(1), bytes);
  ASSERT_TRUE(*query->Step());
  EXPECT_EQ(query->Bytes(1), "");
  EXPECT_FALSE(*query->Step());
}

TEST_F(SqliteTest, StatementsOfOneTextMayBeUsedAtOnce) {
  ASSERT_TRUE(Insert(1, "x").ok());
  ASSERT_TRUE(Insert(2, "y").ok());
  auto first = db_->Prepare("SELECT a FROM t ORDER BY a");
  ASSERT_TRUE(*first->Step());
  auto second = db_->Prepare("SELECT a FROM t ORDER BY a");
  ASSERT_TRUE(*second->Step());
  ASSERT_TRUE(*first->Step());
  EXPECT_EQ(first->Int(0), 2);
  EXPECT_EQ(second->Int(0), 1);
}

TEST_F(SqliteTest, AReturnedStatementForgetsItsBindings) {
  { ASSERT_TRUE(Insert(1, "x").ok()); }
  auto statement = db_->Prepare("INSERT INTO t VALUES (?, ?)");
  ASSERT_TRUE(statement->Bind(std::int64_t{2}).Run().ok());
  EXPECT_EQ(*db_->QueryText("SELECT typeof(b) FROM t WHERE a = 2"), "null");
}

TEST_F(SqliteTest, ATransactionThatIsNotCommittedIsRolledBack) {
  {
    auto transaction = Transaction::Begin(*db_);
    ASSERT_TRUE(transaction.ok());
    ASSERT_TRUE(Insert(1, "x").ok());
  }
  EXPECT_EQ(Count(), 0);
  {
    auto transaction = Transaction::Begin(*db_);
    ASSERT_TRUE(Insert(1, "x").ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }
  EXPECT_EQ(Count(), 1);
}

TEST_F(SqliteTest, AConflictIsAlreadyExistsAndBreaksNothing) {
  ASSERT_TRUE(Insert(1, "x").ok());
  EXPECT_EQ(Insert(1, "y").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(db_->broken());
  EXPECT_EQ(Count(), 1);
}

TEST_F(SqliteTest, AFullDiskIsResourceExhaustedAndLeavesThingsUsable) {
  ASSERT_TRUE(Insert(1, "x").ok());
  disk_.FailAllWrites(FaultVfs::Fault::kDiskFull);
  EXPECT_EQ(Insert(2, "y").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Count(), 1) << "reading works";
  disk_.FailAllWrites(FaultVfs::Fault::kNone);
  EXPECT_TRUE(Insert(2, "y").ok());
  EXPECT_EQ(Count(), 2);
}

TEST_F(SqliteTest, AFailedSyncBreaksTheConnectionForGood) {
  disk_.FailSync(1, FaultVfs::Fault::kIoError);
  EXPECT_EQ(Insert(1, "x").code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(db_->broken());
  EXPECT_EQ(Insert(2, "y").code(), absl::StatusCode::kInternal)
      << "the disk is fine again, but nobody knows what it kept";
}

TEST_F(SqliteTest, AnotherWriterIsUnavailable) {
  auto other =
      Connection::Open({.path = path_, .busy_timeout = absl::ZeroDuration()});
  auto transaction = Transaction::Begin(*db_);
  ASSERT_TRUE(transaction.ok());
  EXPECT_EQ(Transaction::Begin(**other).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(SqliteTest, AFileThatIsNoDatabaseIsDataLossNamingIt) {
  std::ofstream(temp_ / "text") << std::string(4096, 'x');
  auto other = Connection::Open({.path = temp_ / "text"});
  ASSERT_TRUE(other.ok());
  const absl::Status status =
      (*other)->QueryInt("PRAGMA user_version").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(temp_ / "text"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("restore"));
}

}  // namespace
}  // namespace epochd::store
