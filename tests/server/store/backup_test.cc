// SPDX-License-Identifier: Apache-2.0
//
// a copy made with SQLite's own means while the coordinator writes is a
// whole store of one moment, as docs/deployment.md promises.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <stop_token>
#include <thread>

#include "server/store/sqlite_job_store.h"
#include "tests/conformance/job_samples.h"
#include "tests/temp_folder.h"

namespace epochd::store {
namespace {

// What `sqlite3 FROM ".backup TO"` does.
void Copy(const std::string& from, const std::string& to) {
  sqlite3* source = nullptr;
  sqlite3* target = nullptr;
  ASSERT_EQ(
      sqlite3_open_v2(from.c_str(), &source, SQLITE_OPEN_READONLY, nullptr),
      SQLITE_OK);
  ASSERT_EQ(sqlite3_open(to.c_str(), &target), SQLITE_OK);
  sqlite3_backup* const backup =
      sqlite3_backup_init(target, "main", source, "main");
  ASSERT_NE(backup, nullptr);
  int result = SQLITE_OK;
  while (result == SQLITE_OK || result == SQLITE_BUSY ||
         result == SQLITE_LOCKED) {
    result = sqlite3_backup_step(backup, 100);
  }
  EXPECT_EQ(result, SQLITE_DONE);
  EXPECT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
  sqlite3_close(source);
  sqlite3_close(target);
}

TEST(BackupTest, ACopyUnderLoadIsAWholeStoreOfOneMoment) {
  TempFolder temp;
  const std::string folder = temp / "state";
  auto store = SqliteJobStore::Open({.folder = folder});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Load().ok());
  std::atomic<int> acknowledged = 0;
  // A copy begins anew after each commit that comes between its steps: a writer
  // without an end could keep a slower reader for ever.
  constexpr int kMostInRound = 500;
  std::atomic<int> limit = 0;
  std::jthread writer([&](const std::stop_token& stop) {
    // Each batch makes a job and lets the one before go on.
    std::unique_ptr<SampleJob> before;
    for (int number = 1; !stop.stop_requested();) {
      if (number > limit) {
        std::this_thread::yield();
        continue;
      }
      auto job = std::make_unique<SampleJob>(number++);
      Batch batch;
      batch.jobs.push_back(job->Begin());
      if (before != nullptr) batch.jobs.push_back(before->Append(OneOfEach()));
      batch.requests = {
          {"r" + std::to_string(job->job().submit_number), job->id()}};
      ASSERT_TRUE((*store)->Commit(batch).ok());
      before = std::move(job);
      ++acknowledged;
    }
  });
  for (int round = 1; round <= 5; ++round) {
    const int wanted = acknowledged + 50;
    limit = acknowledged + kMostInRound;
    while (acknowledged < wanted) std::this_thread::yield();
    const int before = acknowledged;
    const std::string copy = temp / ("copy-" + std::to_string(round));
    std::filesystem::create_directory(copy);
    ASSERT_NO_FATAL_FAILURE(Copy(folder + "/epochd.db", copy + "/epochd.db"));
    const int after = acknowledged + 1;

    auto restored = SqliteJobStore::Open({.folder = copy});
    ASSERT_TRUE(restored.ok()) << restored.status();
    const auto loaded = (*restored)->Load();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const auto found = static_cast<int>(loaded->live_jobs.size());
    EXPECT_GE(found, before) << "what was acknowledged before is there";
    EXPECT_LE(found, after);
    EXPECT_EQ(loaded->next_submit_number, found + 1);
    for (const auto& job : loaded->live_jobs) {
      const auto events = (*restored)->ReadEvents(job->id, 0, 1000);
      ASSERT_TRUE(events.ok()) << events.status();
      EXPECT_EQ(static_cast<int64_t>(events->size()), job->last_sequence);
      EXPECT_EQ(job->last_sequence, job->submit_number < found ? 12 : 1)
          << "no batch is there in part";
      EXPECT_EQ(
          *(*restored)->FindRequest("r" + std::to_string(job->submit_number)),
          job->id);
    }
  }
}

}  // namespace
}  // namespace epochd::store
