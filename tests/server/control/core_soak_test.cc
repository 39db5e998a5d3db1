// SPDX-License-Identifier: Apache-2.0
//
// That a life of many jobs leaves nothing behind in memory.
#include <dirent.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "spdlog/spdlog.h"
#include "tests/server/control/rig.h"

namespace epochd::control {
namespace {

using job::AttemptReason;
using job::AttemptState;

int64_t BytesInUse() {
  return static_cast<int64_t>(mallinfo2().uordblks) +
         static_cast<int64_t>(mallinfo2().hblkhd);
}

int NumOpenFiles() {
  int number = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++number;
  closedir(folder);
  return number;
}

class CoreSoakTest : public testing::Test {
 protected:
  static Options Keep() {
    Options options;
    options.max_finished_jobs = 50;
    options.min_finished_age = absl::Minutes(1);
    return options;
  }

  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    ASSERT_TRUE(rig_.Register("a", 1).ok());
    ASSERT_TRUE(rig_.Register("b", 1).ok());
  }
  void TearDown() override { spdlog::set_level(spdlog::level::info); }

  // One job that goes one of the ways that jobs go.
  void Live(int number) {
    auto spec = Spec();
    spec->display_name = "job " + std::to_string(number);
    spec->restart.max = 1;
    spec->restart.backoff = absl::Seconds(1);
    const auto id =
        rig_.Submit(spec, "request " + std::to_string(number))->job->id;
    switch (number % 6) {
      case 0:
        return End(id, AttemptReason::kCompleted);
      case 1:
        return End(id, AttemptReason::kTrainingFailed);
      case 2:
        End(id, AttemptReason::kRankLost);
        return End(id, AttemptReason::kRankLost);
      case 3:
        End(id, AttemptReason::kStartFailed);
        return End(id, AttemptReason::kCompleted);
      case 4:
        ASSERT_TRUE(rig_.Cancel(id).ok());
        return End(id, AttemptReason::kCancelled);
      default:
        End(id, AttemptReason::kCompleted);
        ASSERT_TRUE(rig_.Delete(id).ok());
    }
  }

  // Lets the attempt run, say something, and end.
  void End(job::JobId id, AttemptReason reason) {
    for (int i = 0; rig_.View(id).job->LiveAttempt() == nullptr; ++i) {
      ASSERT_LT(i, 400) << "it is not started";
      rig_.clock().Advance(absl::Seconds(1));
      ASSERT_TRUE(rig_.Beat("a").ok());
      ASSERT_TRUE(rig_.Beat("b").ok());
    }
    const job::Attempt attempt = *rig_.View(id).job->LiveAttempt();
    const job::AttemptId name{id, attempt.number};
    const std::string worker = attempt.ranks[0].worker.name();
    if (reason != AttemptReason::kStartFailed) {
      ASSERT_TRUE(rig_.Beat(worker, {Seen(name, AttemptState::kRunning)}).ok());
      ASSERT_TRUE(rig_.Report(worker, name, 0,
                              "{\"type\":\"epoch_finished\",\"epoch\":1}\n"
                              "{\"type\":\"progress\",\"step\":1}\n")
                      .ok());
    }
    auto ended = Seen(name, AttemptState::kEnded, reason);
    ended.problems = {"a problem of " + name.ResourceName()};
    ASSERT_TRUE(rig_.Beat(worker, {ended}).ok());
    rig_.clock().Advance(absl::Seconds(1));
    ASSERT_TRUE(rig_.Beat("a").ok());
    ASSERT_TRUE(rig_.Beat("b").ok());
  }

  Rig rig_{Keep()};
};

TEST_F(CoreSoakTest, MemoryAndFilesAreThoseOfTheJobsThatAreKept) {
  constexpr int kWarm = 3000;
  constexpr int kMore = 100000;
  int number = 0;
  while (number < kWarm && !HasFailure()) Live(number++);
  const int64_t bytes = BytesInUse();
  const int files = NumOpenFiles();
  for (int i = 0; i < kMore && !HasFailure(); ++i) Live(number++);
  EXPECT_LT(BytesInUse() - bytes, 1 << 20) << "after " << kMore << " jobs more";
  EXPECT_EQ(NumOpenFiles(), files);
  EXPECT_LT(rig_.board().GetStats().num_refused_decisions, 1);
}

}  // namespace
}  // namespace epochd::control
