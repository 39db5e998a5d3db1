// SPDX-License-Identifier: Apache-2.0
//
// What only a disk can do to a store: fail, fill up, lose power, be damaged,
// and the process being killed. What any store does is in tests/conformance.
#include "server/store/sqlite_job_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "server/store/schema.h"
#include "tests/conformance/job_samples.h"
#include "tests/server/store/fault_vfs.h"
#include "tests/temp_folder.h"

namespace epochd::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SqliteJobStoreTest : public testing::Test {
 protected:
  absl::Status Open() {
    store_.reset();
    auto opened =
        SqliteJobStore::Open({.folder = folder_, .vfs = disk_.name()});
    if (!opened.ok()) return opened.status();
    store_ = *std::move(opened);
    return store_->Load().status();
  }
  // Copies the folder as it is now, as a crash would leave it.
  void Crash() {
    fs::copy(folder_, folder_ + "-crashed", fs::copy_options::recursive);
    store_.reset();
    fs::remove_all(folder_);
    fs::rename(folder_ + "-crashed", folder_);
  }
  int NumEvents(const SampleJob& sample) {
    const auto events = store_->ReadEvents(sample.id(), 0, 1 << 20);
    return events.ok() ? static_cast<int>(events->size()) : 0;
  }

  TempFolder temp_;
  const std::string folder_ = temp_ / "state";
  const std::string db_ = folder_ + "/epochd.db";
  FaultVfs disk_;
  std::unique_ptr<SqliteJobStore> store_;
};

TEST_F(SqliteJobStoreTest, OneProcessOnlyHoldsTheFolder) {
  ASSERT_TRUE(Open().ok());
  const auto second = SqliteJobStore::Open({.folder = folder_});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("pid " + std::to_string(getpid())));
  store_.reset();
  EXPECT_TRUE(Open().ok());
}

TEST_F(SqliteJobStoreTest, NobodyElseMayReadTheFolder) {
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
}

TEST_F(SqliteJobStoreTest, ACleanEndLeavesOneFile) {
  ASSERT_TRUE(Open().ok());
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  store_.reset();
  EXPECT_FALSE(fs::exists(db_ + "-wal"));
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(NumEvents(sample), 1);
}

TEST_F(SqliteJobStoreTest, ANewerSchemaIsRefusedAndLeftAlone) {
  ASSERT_TRUE(Open().ok());
  store_.reset();
  {
    auto raw = Connection::Open({.path = db_});
    ASSERT_TRUE((*raw)
                    ->Execute(absl::StrCat("PRAGMA user_version = ",
                                           kSchemaVersion + 1))
                    .ok());
  }
  const absl::Status status = Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("newer"));
}

TEST_F(SqliteJobStoreTest, AnOlderSchemaGetsWhatItLacks) {
  ASSERT_TRUE(Open().ok());
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  store_.reset();
  {
    auto raw = Connection::Open({.path = db_});
    ASSERT_TRUE((*raw)
                    ->Execute("DROP TABLE deletions; DROP INDEX jobs_by_end; "
                              "ALTER TABLE jobs DROP COLUMN end_time; DROP "
                              "TABLE job_files; DROP TABLE removed_jobs; "
                              "PRAGMA user_version = 1")
                    .ok());
  }
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(NumEvents(sample), 1);
  EXPECT_TRUE(store_->Commit({.deletions = {{"r", sample.id()}}}).ok());
  EXPECT_EQ(store_->FindDeletion("r").value(), sample.id());
  store_.reset();
  EXPECT_TRUE(Open().ok()) << "once";
}

// How many rows of a table the file holds.
int64_t NumRows(const std::string& db, const std::string& table) {
  auto raw = Connection::Open({.path = db, .read_only = true});
  return raw.ok()
             ? (*raw)->QueryInt("SELECT count(*) FROM " + table).value_or(-1)
             : -1;
}

TEST_F(SqliteJobStoreTest, AnOlderSchemaLearnsWhenJobsFinishedAndTheirFiles) {
  ASSERT_TRUE(Open().ok());
  std::vector<SampleJob> samples;
  // More than are looked at in one go.
  for (int number = 1; number <= 300; ++number) {
    samples.emplace_back(number);
    ASSERT_TRUE(store_->Commit({.jobs = {samples.back().Begin()}}).ok());
  }
  const absl::Time end = absl::FromUnixSeconds(1700000000);
  ASSERT_TRUE(
      store_
          ->Commit({.jobs = {samples[290].Finish(job::JobState::kFailed, end)}})
          .ok());
  store_.reset();
  {
    auto raw = Connection::Open({.path = db_});
    ASSERT_TRUE((*raw)
                    ->Execute("DROP INDEX jobs_by_end; ALTER TABLE jobs DROP "
                              "COLUMN end_time; DROP TABLE job_files; DROP "
                              "TABLE removed_jobs; PRAGMA user_version = 2")
                    .ok());
  }
  ASSERT_TRUE(Open().ok());
  const auto finished = store_->FinishedJobs(9);
  ASSERT_TRUE(finished.ok()) << finished.status();
  ASSERT_EQ(finished->size(), 1);
  EXPECT_EQ((*finished)[0].id, samples[290].id());
  EXPECT_EQ((*finished)[0].end_time, end);
  EXPECT_TRUE(*store_->UsesFile(FullSpec().files[0].sha256));
  EXPECT_EQ(NumRows(db_, "job_files"), 300);
}

TEST_F(SqliteJobStoreTest, ASweepTakesNoMoreEventsThanItMay) {
  ASSERT_TRUE(Open().ok());
  SampleJob gone(1);
  SampleJob kept(2);
  ASSERT_TRUE(store_->Commit({.jobs = {gone.Begin(), kept.Begin()}}).ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store_->Commit({.jobs = {gone.Append(OneOfEach())}}).ok());
  }
  const int64_t num_kept = 1;
  ASSERT_TRUE(store_->Commit({.deleted_jobs = {gone.id()}}).ok());
  int64_t before = NumRows(db_, "events");
  EXPECT_EQ(before, num_kept + static_cast<int64_t>(gone.events().size()))
      << "deleting a job takes one short transaction";
  for (absl::StatusOr<bool> more = true; *more;) {
    more = store_->Sweep(10);
    ASSERT_TRUE(more.ok()) << more.status();
    const int64_t after = NumRows(db_, "events");
    EXPECT_LE(before - after, 10);
    EXPECT_TRUE(after < before || !*more) << "every step gets on";
    before = after;
  }
  EXPECT_EQ(before, num_kept);
  for (const char* table : {"jobs", "specs", "job_files"}) {
    EXPECT_EQ(NumRows(db_, table), num_kept) << table;
  }
  EXPECT_EQ(NumRows(db_, "removed_jobs"), 0);
}

TEST_F(SqliteJobStoreTest, AFullDiskRefusesASweepAndItGoesOnLater) {
  ASSERT_TRUE(Open().ok());
  SampleJob gone(1);
  ASSERT_TRUE(store_->Commit({.jobs = {gone.Begin()}}).ok());
  ASSERT_TRUE(store_->Commit({.deleted_jobs = {gone.id()}}).ok());
  disk_.FailAllWrites(FaultVfs::Fault::kDiskFull);
  EXPECT_EQ(store_->Sweep(10).status().code(),
            absl::StatusCode::kResourceExhausted);
  disk_.FailAllWrites(FaultVfs::Fault::kNone);
  EXPECT_FALSE(*store_->Sweep(10));
  EXPECT_EQ(NumRows(db_, "events"), 0);
}

TEST_F(SqliteJobStoreTest, AForeignDatabaseIsRefused) {
  fs::create_directory(folder_);
  {
    auto raw = Connection::Open({.path = db_});
    ASSERT_TRUE((*raw)->Execute("CREATE TABLE photos (id)").ok());
  }
  EXPECT_EQ(Open().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SqliteJobStoreTest, DamageIsRefusedWithTheFileAndWhatToDo) {
  ASSERT_TRUE(Open().ok());
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(store_->Commit({.jobs = {sample.Append(OneOfEach())}}).ok());
  }
  store_.reset();
  const auto size = fs::file_size(db_);
  const fs::path good = temp_ / "good";
  fs::copy_file(db_, good);
  const auto expect_refused = [&](const char* what) {
    const absl::Status status = Open();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss)
        << what << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(db_)) << what;
    store_.reset();
    fs::remove(db_ + "-wal");
    fs::remove(db_ + "-shm");
    fs::copy_file(good, db_, fs::copy_options::overwrite_existing);
  };
  fs::resize_file(db_, size / 2);
  expect_refused("cut in half");
  {
    std::fstream file(db_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size / 2 / 4096 * 4096));
    file << std::string(4096, '\xa5');
  }
  expect_refused("a page overwritten");
  std::ofstream(db_, std::ios::trunc) << "hello";
  expect_refused("replaced by text");
  EXPECT_TRUE(Open().ok()) << "the good one again";
}

TEST_F(SqliteJobStoreTest, AFlippedBitInARecordIsNeverAnotherJob) {
  ASSERT_TRUE(Open().ok());
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  store_.reset();
  std::string bytes;
  {
    std::ifstream file(db_, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::size_t at = bytes.find("OMP_NUM_THREADS");
  ASSERT_NE(at, std::string::npos);
  {
    std::fstream file(db_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file << 'X';
  }
  const absl::Status status = Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(sample.id().ResourceName()));
}

TEST_F(SqliteJobStoreTest, ADamagedRecordSpoilsItsOwnJobAlone) {
  ASSERT_TRUE(Open().ok());
  for (const char* damage :
       {"UPDATE specs SET record = x'00112233' WHERE job = 1",
        "UPDATE jobs SET record = x'00112233' WHERE submit_number = 1"}) {
    store_.reset();
    fs::remove_all(folder_);
    ASSERT_TRUE(Open().ok());
    SampleJob damaged(1);
    SampleJob good(2);
    ASSERT_TRUE(store_->Commit({.jobs = {damaged.Begin(), good.Begin()}}).ok());
    ASSERT_TRUE(store_
                    ->Commit({.jobs = {damaged.Finish(
                                  job::JobState::kCancelled,
                                  absl::FromUnixSeconds(1700000000))}})
                    .ok());
    store_.reset();
    {
      auto raw = Connection::Open({.path = db_});
      ASSERT_TRUE((*raw)->Execute(damage).ok());
    }
    ASSERT_TRUE(Open().ok());
    const auto page = store_->ListJobs({});
    ASSERT_TRUE(page.ok()) << page.status();
    ASSERT_EQ(page->jobs.size(), 2);
    EXPECT_EQ(Describe(*page->jobs[0]), Describe(good.job()));
    EXPECT_EQ(page->jobs[1]->id, damaged.id());
    EXPECT_EQ(page->jobs[1]->state, job::JobState::kCancelled);
    EXPECT_THAT(page->jobs[1]->message, HasSubstr("damaged"));
    const absl::Status read = store_->ReadJob(damaged.id()).status();
    EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(read.message()),
                HasSubstr(damaged.id().ResourceName()));
  }
}

TEST_F(SqliteJobStoreTest, AMissingWriteAheadLogIsNoticed) {
  ASSERT_TRUE(Open().ok());
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  Crash();
  const fs::path wal = db_ + "-wal";
  fs::rename(wal, temp_ / "wal");
  const absl::Status status = Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("write-ahead log"));
  fs::rename(temp_ / "wal", wal);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(NumEvents(sample), 1);
}

TEST_F(SqliteJobStoreTest, AFullDiskRefusesWritesAndRecovers) {
  ASSERT_TRUE(Open().ok());
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  const JobWrite next = sample.Append(OneOfEach());
  disk_.FailAllWrites(FaultVfs::Fault::kDiskFull);
  EXPECT_EQ(store_->Commit({.jobs = {next}}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(NumEvents(sample), 1) << "reading works, nothing was written";
  EXPECT_EQ(store_->Probe().code(), absl::StatusCode::kResourceExhausted);
  disk_.FailAllWrites(FaultVfs::Fault::kNone);
  const int num_syncs = disk_.num_syncs();
  EXPECT_TRUE(store_->Probe().ok());
  EXPECT_GT(disk_.num_syncs(), num_syncs) << "it wrote something";
  EXPECT_TRUE(store_->Commit({.jobs = {next}}).ok());
  EXPECT_EQ(NumEvents(sample), 12);
}

// Fails the n-th write or sync for every n, then loses power: what was
// acknowledged is there, and at most the batch in flight beside it. The commit
// is the coordinator's only durable step, so its writes and syncs are all the
// points at which it can fail.
class SqliteFaultTest : public SqliteJobStoreTest {
 protected:
  static constexpr int kNumCommits = 12;

  // Returns the batches that were acknowledged.
  int CommitUntilFailure(SampleJob& sample) {
    int acknowledged = 0;
    for (; acknowledged < kNumCommits; ++acknowledged) {
      const JobWrite write = acknowledged == 0
                                 ? sample.Begin()
                                 : sample.Append({job::FirstStep{1}});
      const absl::Status status = store_->Commit({.jobs = {write}});
      if (!status.ok()) {
        EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
        EXPECT_EQ(store_->Commit({.workers = {FullWorker("w")}}).code(),
                  absl::StatusCode::kInternal)
            << "a store that failed must not acknowledge any more";
        break;
      }
    }
    return acknowledged;
  }

  void PowerLoss() {
    disk_.Unplug();
    store_.reset();
    disk_.LoseUnsynced();
  }

  template <typename Plan>
  void TryEveryN(Plan plan) {
    int num_failed = 0;
    for (int n = 1; n <= 60; ++n) {
      fs::remove_all(folder_);
      ASSERT_TRUE(Open().ok());
      plan(n);
      SampleJob sample(1);
      const int acknowledged = CommitUntilFailure(sample);
      num_failed += acknowledged < kNumCommits;
      PowerLoss();
      const absl::Status reopened = Open();
      ASSERT_TRUE(reopened.ok()) << "n = " << n << ": " << reopened;
      const int found = NumEvents(sample);
      EXPECT_GE(found, acknowledged) << "n = " << n;
      EXPECT_LE(found, acknowledged + 1) << "n = " << n;
    }
    EXPECT_GE(num_failed, 10) << "the faults hit nothing";
  }
};

TEST_F(SqliteFaultTest, AFailedWriteLosesNothingAcknowledged) {
  TryEveryN([&](int n) { disk_.FailWrite(n, FaultVfs::Fault::kIoError); });
}

TEST_F(SqliteFaultTest, AFailedSyncLosesNothingAcknowledged) {
  TryEveryN([&](int n) { disk_.FailSync(n, FaultVfs::Fault::kIoError); });
}

TEST_F(SqliteFaultTest, LosingPowerLosesNothingAcknowledged) {
  ASSERT_TRUE(Open().ok());
  SampleJob sample(1);
  ASSERT_TRUE(store_->Commit({.jobs = {sample.Begin()}}).ok());
  for (int round = 0; round < 5; ++round) {
    // Enough to move the log into the main file now and then.
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(store_->Commit({.jobs = {sample.Append(OneOfEach())}}).ok());
    }
    PowerLoss();
    ASSERT_TRUE(Open().ok());
    const auto events = store_->ReadEvents(sample.id(), 0, 1 << 20);
    ASSERT_EQ(events->size(), sample.events().size());
  }
  EXPECT_EQ(Describe(*store_->ReadEvents(sample.id(), 0, 1 << 20)),
            Describe(sample.events()));
}

// Loses power at the n-th write of a removal, for every n: the job is there
// whole or gone for good, and what is left of it is found again.
TEST_F(SqliteFaultTest, ARemovalThatIsCutOffLeavesNothingHalf) {
  int num_failed = 0;
  int num_whole = 0;
  for (int n = 1; n <= 40; ++n) {
    fs::remove_all(folder_);
    ASSERT_TRUE(Open().ok());
    SampleJob gone(1);
    ASSERT_TRUE(
        store_->Commit({.jobs = {gone.Begin()}, .requests = {{"r", gone.id()}}})
            .ok());
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(store_->Commit({.jobs = {gone.Append(OneOfEach())}}).ok());
    }
    disk_.FailWrite(n, FaultVfs::Fault::kIoError);
    const bool deleted = store_->Commit({.deleted_jobs = {gone.id()}}).ok();
    bool failed = !deleted;
    for (absl::StatusOr<bool> more = deleted; more.ok() && *more;) {
      more = store_->Sweep(7);
      failed |= !more.ok();
    }
    num_failed += failed;
    PowerLoss();
    ASSERT_TRUE(Open().ok()) << "n = " << n;
    const bool is_there = store_->ReadJob(gone.id()).ok();
    EXPECT_FALSE(deleted && is_there) << "n = " << n;
    EXPECT_EQ(store_->FindRequest("r").ok(), is_there) << "n = " << n;
    for (absl::StatusOr<bool> more = true; *more;) {
      more = store_->Sweep(7);
      ASSERT_TRUE(more.ok()) << "n = " << n << ": " << more.status();
    }
    num_whole += is_there;
    EXPECT_EQ(NumRows(db_, "events"),
              is_there ? static_cast<int64_t>(gone.events().size()) : 0)
        << "n = " << n;
  }
  EXPECT_GE(num_failed, 10) << "the faults hit nothing";
  EXPECT_GE(num_whole, 1) << "no fault came before the job was gone";
}

// A child commits and prints the number of each batch once it is acknowledged,
// until it is killed.
[[noreturn]] void CommitUntilKilled(const std::string& folder, int first,
                                    int acks) {
  auto store = SqliteJobStore::Open({.folder = folder});
  if (!store.ok() || !(*store)->Load().ok()) _exit(1);
  for (int number = first;; ++number) {
    SampleJob sample(number);
    const JobWrite begin = sample.Begin();
    if (!(*store)->Commit({.jobs = {begin}}).ok()) _exit(2);
    if (write(acks, &number, sizeof(number)) != sizeof(number)) _exit(3);
  }
}

TEST(SqliteJobStoreKillTest,
     KilledTwentyTimesItLosesNothingAcknowledged) {
  TempFolder temp;
  const std::string folder = temp / "state";
  std::mt19937 random(20);
  int next = 1;
  for (int round = 0; round < 20; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(pipe_ends[0]);
      CommitUntilKilled(folder, next, pipe_ends[1]);
    }
    close(pipe_ends[1]);
    // Kills after some acknowledgements, wherever the child then is.
    const int wanted = 1 + static_cast<int>(random() % 60);
    int last = next - 1;
    for (int i = 0; i < wanted; ++i) {
      ASSERT_EQ(read(pipe_ends[0], &last, sizeof(last)),
                static_cast<ssize_t>(sizeof(last)))
          << "the child ended by itself";
    }
    kill(child, SIGKILL);
    while (read(pipe_ends[0], &last, sizeof(last)) > 0) {
    }
    close(pipe_ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));

    auto store = SqliteJobStore::Open({.folder = folder});
    ASSERT_TRUE(store.ok()) << "round " << round << ": " << store.status();
    const auto loaded = (*store)->Load();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const auto found = static_cast<int>(loaded->live_jobs.size());
    EXPECT_GE(found, last) << "round " << round;
    EXPECT_LE(found, last + 1) << "round " << round;
    next = found + 1;
  }
}

}  // namespace
}  // namespace epochd::store
