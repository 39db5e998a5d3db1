// SPDX-License-Identifier: Apache-2.0
#include "server/job/restart.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/server/job/make_job.h"

namespace epochd::job {
namespace {

using R = AttemptReason;

TEST(RestartTest, DefaultPolicyDecidesByReason) {  // P-37
  const struct {
    R reason;
    JobState state;
    JobReason job_reason;
    bool counts;
  } kRows[] = {
      {R::kCompleted, JobState::kSucceeded, JobReason::kCompleted, false},
      {R::kStoppedWithCheckpoint, JobState::kQueued, JobReason::kRestartBackoff,
       false},
      {R::kBadSpec, JobState::kFailed, JobReason::kBadSpec, false},
      {R::kTrainingFailed, JobState::kFailed, JobReason::kTrainingFailed,
       false},
      {R::kRankLost, JobState::kQueued, JobReason::kRestartBackoff, true},
      {R::kWorkerLost, JobState::kQueued, JobReason::kRestartBackoff, true},
      {R::kHang, JobState::kQueued, JobReason::kRestartBackoff, true},
      {R::kOomHost, JobState::kQueued, JobReason::kRestartBackoff, true},
      {R::kStartFailed, JobState::kQueued, JobReason::kRestartBackoff, false},
      {R::kCancelled, JobState::kFailed, JobReason::kNotRestartable, false},
      {R::kTimeLimit, JobState::kFailed, JobReason::kNotRestartable, false},
  };
  EXPECT_EQ(std::size(kRows), AllAttemptReasons().size());
  for (const auto& row : kRows) {
    const EndDecision decision = DecideEnd(Running(), row.reason, "because");
    EXPECT_EQ(decision.state, row.state) << Name(row.reason);
    EXPECT_EQ(decision.reason, row.job_reason) << Name(row.reason);
    EXPECT_EQ(decision.counts_as_restart, row.counts) << Name(row.reason);
    EXPECT_TRUE(Explains(decision.reason, decision.state)) << Name(row.reason);
  }
}

TEST(RestartTest, RestartsAreBounded) {  // P-108, R-40
  Job job = Running();
  job.num_restarts = job.spec->restart.max;
  const EndDecision decision = DecideEnd(job, R::kRankLost, "signal 9");
  EXPECT_EQ(decision.state, JobState::kFailed);
  EXPECT_EQ(decision.reason, JobReason::kRestartsExhausted);
  EXPECT_NE(decision.message.find("signal 9"), std::string::npos);
}

TEST(RestartTest, FailedStartsAreRetriedWithoutCountingUntilThereAreTooMany) {
  Job job = Running();
  job.num_restarts = job.spec->restart.max;
  for (int n = 1; n <= kMaxStartRetries; ++n) {
    const EndDecision decision = DecideEnd(job, R::kStartFailed, "disk full");
    ASSERT_EQ(decision.state, JobState::kQueued) << n;
    EXPECT_FALSE(decision.counts_as_restart);
    EXPECT_NE(decision.message.find("disk full"), std::string::npos);
    Attempt ended = job.attempts.back();
    ended.state = AttemptState::kEnded;
    ended.reason = R::kStartFailed;
    job.attempts.insert(job.attempts.end() - 1, ended);
    Job queued = job;
    queued.attempts.pop_back();
    EXPECT_EQ(BackoffOf(queued), Backoff(job.spec->restart, n));
  }
  const EndDecision last = DecideEnd(job, R::kStartFailed, "disk full");
  EXPECT_EQ(last.state, JobState::kFailed);
  EXPECT_EQ(last.reason, JobReason::kNotRestartable);
  EXPECT_EQ(last.message,
            "attempt 1 ended: start_failed (disk full); that was the 6th start "
            "in a row that failed");
  // One that began in between makes it a new row.
  job.attempts[2].reason = R::kStoppedWithCheckpoint;
  EXPECT_EQ(DecideEnd(job, R::kStartFailed, "").state, JobState::kQueued);
}

TEST(RestartTest, AFailedStartCountsWhereThePolicyNamesIt) {
  auto spec = std::make_shared<JobSpec>(*MakeSpec());
  spec->restart.reasons = {R::kStartFailed};
  Job job = Running(spec);
  EXPECT_TRUE(DecideEnd(job, R::kStartFailed, "").counts_as_restart);
  job.num_restarts = spec->restart.max;
  EXPECT_EQ(DecideEnd(job, R::kStartFailed, "").reason,
            JobReason::kRestartsExhausted);
}

TEST(RestartTest, GivenReasonsReplaceTheDefault) {
  auto spec = std::make_shared<JobSpec>(*MakeSpec());
  spec->restart.reasons = {R::kTrainingFailed};
  EXPECT_EQ(DecideEnd(Running(spec), R::kTrainingFailed, "").state,
            JobState::kQueued);
  EXPECT_EQ(DecideEnd(Running(spec), R::kRankLost, "").reason,
            JobReason::kNotRestartable);
}

TEST(RestartTest, AStoppingJobNeverRunsAgain) {
  for (const JobReason why :
       {JobReason::kCancelRequested, JobReason::kTimeLimit}) {
    Job job = Running();
    ASSERT_TRUE(
        Add(job, 0, JobStateChanged{JobState::kStopping, why, ""}).ok());
    for (const R reason : AllAttemptReasons()) {
      const EndDecision decision = DecideEnd(job, reason, "");
      EXPECT_TRUE(IsTerminal(decision.state)) << Name(reason);
      EXPECT_TRUE(MayFollow(job.state, decision.state)) << Name(reason);
      EXPECT_FALSE(decision.counts_as_restart);
      if (reason == R::kCompleted) {
        EXPECT_EQ(decision.state, JobState::kSucceeded);
      } else {
        EXPECT_EQ(decision.state, why == JobReason::kTimeLimit
                                      ? JobState::kFailed
                                      : JobState::kCancelled);
      }
    }
  }
}

TEST(RestartTest, BackoffDoublesUpToAMinute) {
  RestartPolicy policy;
  const int kSeconds[] = {0, 1, 2, 4, 8, 16, 32, 60, 60};
  for (int n = 0; n < static_cast<int>(std::size(kSeconds)); ++n) {
    EXPECT_EQ(Backoff(policy, n), absl::Seconds(kSeconds[n])) << n;
  }
  EXPECT_EQ(Backoff(policy, 1000000), absl::Minutes(1));
  policy.backoff = absl::Seconds(-5);
  EXPECT_EQ(Backoff(policy, 3), absl::ZeroDuration());
}

TEST(RestartTest, APlannedStopWaitsForNothing) {
  Job job = Running();
  job.num_restarts = 2;
  ASSERT_TRUE(
      Add(job, 1, To(AttemptState::kEnded, R::kStoppedWithCheckpoint)).ok());
  EXPECT_EQ(BackoffOf(job), absl::ZeroDuration());
  job.attempts.back().reason = R::kRankLost;
  EXPECT_EQ(BackoffOf(job), absl::Seconds(1));
}

// Ends attempts one after another, each for a reason and with a checkpoint or
// without, and gives the backoffs in seconds.
std::vector<int> Backoffs(const std::vector<std::pair<R, bool>>& ends) {
  Job job = Running();
  job.attempts.clear();
  std::vector<int> seconds;
  for (const auto& [reason, saves] : ends) {
    Attempt attempt;
    attempt.number = job.CurrentAttempt().Next();
    attempt.state = AttemptState::kRunning;
    job.attempts.push_back(attempt);
    if (saves) {
      Checkpoint checkpoint;
      checkpoint.attempt = attempt.number;
      // Older ones may be there or not.
      if (attempt.number.value() % 2 == 0) job.checkpoints.clear();
      job.checkpoints.push_back(checkpoint);
    }
    const EndDecision decision = DecideEnd(job, reason, "");
    job.attempts.back().state = AttemptState::kEnded;
    job.attempts.back().reason = reason;
    const absl::Duration backoff = BackoffOf(job);
    if (decision.counts_as_restart) {
      EXPECT_NE(decision.message.find(" in " + absl::FormatDuration(backoff)),
                std::string::npos)
          << decision.message;
    }
    seconds.push_back(static_cast<int>(absl::ToInt64Seconds(backoff)));
  }
  return seconds;
}

TEST(RestartTest, BackoffBeginsAnewWithAnAttemptThatSaved) {
  const std::pair<R, bool> saved{R::kRankLost, true};
  const std::pair<R, bool> lost{R::kRankLost, false};
  EXPECT_EQ(Backoffs({lost, lost, lost}), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(Backoffs({saved, saved, saved}), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(Backoffs({lost, lost, saved, lost, lost, saved}),
            (std::vector<int>{1, 2, 1, 2, 4, 1}));
}

TEST(RestartTest, WhatDoesNotCountDoesNotLengthenABackoff) {
  const std::pair<R, bool> lost{R::kRankLost, false};
  const std::pair<R, bool> stopped{R::kStoppedWithCheckpoint, false};
  EXPECT_EQ(Backoffs({lost, stopped, lost, stopped, lost}),
            (std::vector<int>{1, 0, 2, 0, 4}));
  EXPECT_EQ(Backoffs({lost, {R::kStoppedWithCheckpoint, true}, lost}),
            (std::vector<int>{1, 0, 1}))
      << "a planned stop after a checkpoint";
}

}  // namespace
}  // namespace epochd::job
