// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace epochd::epochctl {
namespace {

TEST(Words, NameEveryValueWithoutItsPrefix) {
  for (int i = 1; v1::JobState_IsValid(i); ++i) {
    const std::string word = Word(static_cast<v1::JobState>(i));
    EXPECT_EQ(word.find('_'), std::string::npos) << word;
    EXPECT_NE(word, "");
  }
  EXPECT_EQ(Word(v1::JOB_STATE_SUCCEEDED), "SUCCEEDED");
  EXPECT_EQ(Word(v1::JOB_REASON_TRAINING), "training");
  EXPECT_EQ(Word(v1::ATTEMPT_STATE_ASSIGNED), "assigned");
  EXPECT_EQ(Word(v1::ATTEMPT_REASON_WORKER_LOST), "worker_lost");
  EXPECT_EQ(Word(v1::WORKER_STATE_UNREACHABLE), "UNREACHABLE");
  EXPECT_EQ(Word(v1::WORKER_STATE_NOT_READY), "NOT_READY");
}

TEST(Words, NumberWhatANewerServerSays) {
  EXPECT_EQ(Word(static_cast<v1::JobState>(77)), "unknown-77");
  EXPECT_EQ(Word(static_cast<v1::AttemptReason>(99)), "unknown-99");
  EXPECT_EQ(StateCell(static_cast<v1::WorkerState>(50)).text, "unknown-50");
}

TEST(Words, ColourStatesByWhatTheyMean) {
  using terminal::Color;
  EXPECT_EQ(StateCell(v1::JOB_STATE_SUCCEEDED).color, Color::kGreen);
  EXPECT_EQ(StateCell(v1::JOB_STATE_FAILED).color, Color::kRed);
  EXPECT_EQ(StateCell(v1::JOB_STATE_CANCELLED).color, Color::kYellow);
  EXPECT_EQ(StateCell(v1::JOB_STATE_STOPPING).color, Color::kYellow);
  EXPECT_EQ(StateCell(v1::JOB_STATE_RUNNING).color, Color::kCyan);
  EXPECT_EQ(StateCell(v1::JOB_STATE_QUEUED).color, Color::kNone);
  EXPECT_EQ(StateCell(v1::WORKER_STATE_DRAINING).color, Color::kYellow);
}

TEST(Words, TakeIdsWithAndWithoutTheirCollection) {
  EXPECT_EQ(JobName("x"), "jobs/x");
  EXPECT_EQ(JobName("jobs/x"), "jobs/x");
  EXPECT_EQ(WorkerName("n1"), "workers/n1");
  EXPECT_EQ(WorkerName("workers/n1"), "workers/n1");
  EXPECT_EQ(Id("jobs/x"), "x");
  EXPECT_EQ(Id("x"), "x");
  EXPECT_EQ(Id("jobs/\x1b[1m"), "\\x1b[1m");
}

TEST(Words, TellAges) {
  google::protobuf::Timestamp time;
  const absl::Time now = absl::FromUnixSeconds(10000);
  EXPECT_EQ(Age(time, false, now), "-");
  // Never seen: a server's zero time.
  EXPECT_EQ(Age(time, true, now), "-");
  time.set_seconds(10000 - 192);
  EXPECT_EQ(Age(time, true, now), "3m12s");
  // Clocks differ.
  time.set_seconds(10005);
  EXPECT_EQ(Age(time, true, now), "0ms");
}

TEST(Words, TellEpochsAndTheBest) {
  v1::Progress progress;
  EXPECT_EQ(EpochText(progress), "-");
  progress.set_epoch(3);
  EXPECT_EQ(EpochText(progress), "3");
  progress.set_total_epochs(30);
  EXPECT_EQ(EpochText(progress), "3/30");
  v1::BestMetric best;
  EXPECT_EQ(BestText(best), "-");
  best.set_name("val/\tx");
  best.set_value(0.5);
  best.set_epoch(7);
  EXPECT_EQ(BestText(best), "val/\\tx 0.5000 (7)");
}

}  // namespace
}  // namespace epochd::epochctl
