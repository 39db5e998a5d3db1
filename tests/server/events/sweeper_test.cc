// SPDX-License-Identifier: Apache-2.0
#include "server/events/sweeper.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/temp_folder.h"

namespace epochd::events {
namespace {

namespace fs = std::filesystem;

constexpr char kAbcHash[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kEmptyHash[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// What the coordinator keeps, and whether it can be asked.
struct Kept {
  absl::Mutex mutex;
  std::set<job::JobId> jobs ABSL_GUARDED_BY(mutex);
  std::set<std::string> files ABSL_GUARDED_BY(mutex);
  absl::Status status ABSL_GUARDED_BY(mutex);
};

class SweeperTest : public testing::Test {
 protected:
  SweeperTest()
      : logs_(*LogStore::Open({.root = temp_ / "logs"})),
        files_(*FileStore::Open({.root = temp_ / "files"})) {}

  void Write(job::JobId job) {
    ASSERT_TRUE(
        logs_->Append({{job, job::AttemptNumber(1)}, 0}, 0, "text").ok());
  }
  void Upload(const std::string& sha256, const std::string& content) {
    auto upload = files_->Begin(sha256);
    ASSERT_TRUE(upload.ok()) << upload.status();
    ASSERT_TRUE((*upload)->Append(content).ok());
    ASSERT_TRUE((*upload)->Finish().ok());
  }
  // As if it had been uploaded two hours ago.
  void MakeOld(const std::string& sha256) {
    const std::string path =
        absl::StrCat(temp_ / "files", "/", sha256.substr(0, 2), "/", sha256);
    const timespec old = absl::ToTimespec(absl::Now() - absl::Hours(2));
    const timespec times[2] = {old, old};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
  }
  void Start(absl::Duration interval = absl::Hours(1)) {
    Sweeper::Options options;
    options.interval = interval;
    options.keeps_job = [this](job::JobId id) -> absl::StatusOr<bool> {
      absl::MutexLock lock(&kept_.mutex);
      if (!kept_.status.ok()) return kept_.status;
      return kept_.jobs.contains(id);
    };
    options.uses_file =
        [this](const std::string& sha256) -> absl::StatusOr<bool> {
      absl::MutexLock lock(&kept_.mutex);
      if (!kept_.status.ok()) return kept_.status;
      return kept_.files.contains(sha256);
    };
    sweeper_.emplace(std::move(options), *logs_, *files_);
    sweeper_->Start();
  }
  template <typename Condition>
  bool Eventually(Condition condition) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (!condition()) {
      if (absl::Now() > deadline) return false;
      poll(nullptr, 0, 1);
    }
    return true;
  }
  bool HasLog(job::JobId job) {
    return fs::exists(absl::StrCat(temp_ / "logs", "/", job.ToString()));
  }

  TempFolder temp_;
  std::unique_ptr<LogStore> logs_;
  std::unique_ptr<FileStore> files_;
  Kept kept_;
  std::optional<Sweeper> sweeper_;
};

TEST_F(SweeperTest, AtItsStartItRemovesLogsThatACrashLeftBehind) {
  const job::JobId kept(1, 1);
  const job::JobId gone(2, 2);
  Write(kept);
  Write(gone);
  {
    absl::MutexLock lock(&kept_.mutex);
    kept_.jobs.insert(kept);
  }
  fs::create_directory(temp_ / "logs/not-a-job");
  Start();
  EXPECT_TRUE(Eventually([&] { return !HasLog(gone); }));
  sweeper_.reset();
  EXPECT_TRUE(HasLog(kept));
  EXPECT_TRUE(fs::exists(temp_ / "logs/not-a-job")) << "not ours";
}

TEST_F(SweeperTest, RemovesAtOnceWhatItIsToldOf) {
  const job::JobId gone(2, 2);
  {
    absl::MutexLock lock(&kept_.mutex);
    kept_.jobs.insert(gone);
  }
  Start();
  Write(gone);
  sweeper_->Remove({gone, job::JobId(3, 3)});
  EXPECT_TRUE(Eventually([&] { return !HasLog(gone); }));
}

TEST_F(SweeperTest, WakesFollowersOfALogThatGoes) {
  const job::JobId gone(2, 2);
  Write(gone);
  std::atomic<bool> woken = false;
  const Subscription follower =
      logs_->Subscribe(gone, [&woken] { woken = true; });
  Start();
  EXPECT_TRUE(Eventually([&] { return woken.load(); }));
}

TEST_F(SweeperTest, RemovesFilesThatNoJobUsesOnceTheyAreOld) {
  Upload(kAbcHash, "abc");
  Upload(kEmptyHash, "");
  MakeOld(kAbcHash);
  MakeOld(kEmptyHash);
  {
    absl::MutexLock lock(&kept_.mutex);
    kept_.files.insert(kEmptyHash);
  }
  Start();
  EXPECT_TRUE(Eventually([&] { return files_->List()->size() == 1; }));
  sweeper_.reset();
  EXPECT_EQ(files_->List()->front(), kEmptyHash);
}

TEST_F(SweeperTest, AFileThatASubmitAsksForIsNewAgain) {
  Upload(kAbcHash, "abc");
  MakeOld(kAbcHash);
  ASSERT_TRUE(files_->Use(kAbcHash).ok());
  const job::JobId gone(2, 2);
  Write(gone);
  Start();
  ASSERT_TRUE(Eventually([&] { return !HasLog(gone); }));
  // Files are looked at after logs; the end waits for that.
  sweeper_.reset();
  EXPECT_EQ(files_->List()->size(), 1);
}

TEST_F(SweeperTest, RemovesNothingThatItCannotAskAbout) {
  const job::JobId unclear(2, 2);
  Write(unclear);
  Upload(kAbcHash, "abc");
  MakeOld(kAbcHash);
  {
    absl::MutexLock lock(&kept_.mutex);
    kept_.status = absl::InternalError("the disk failed");
  }
  Start(absl::Milliseconds(5));
  const job::JobId told(3, 3);
  Write(told);
  sweeper_->Remove({told});
  ASSERT_TRUE(Eventually([&] { return !HasLog(told); }));
  EXPECT_TRUE(HasLog(unclear));
  EXPECT_EQ(files_->List()->size(), 1);
  {
    absl::MutexLock lock(&kept_.mutex);
    kept_.status = absl::OkStatus();
  }
  EXPECT_TRUE(Eventually([&] {
    return !HasLog(unclear) && files_->List()->empty();
  })) << "the next look makes up for it";
}

}  // namespace
}  // namespace epochd::events
