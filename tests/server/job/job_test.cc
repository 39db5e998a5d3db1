// SPDX-License-Identifier: Apache-2.0
#include "server/job/job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "tests/server/job/make_job.h"

namespace epochd::job {
namespace {

using Code = absl::StatusCode;

Checkpoint MakeCheckpoint(const std::string& path, int attempt = 1) {
  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.attempt = AttemptNumber(attempt);
  return checkpoint;
}

TEST(ApplyTest, SubmittedJobIsQueued) {
  const Job job = Submitted();
  EXPECT_EQ(job.state, JobState::kQueued);
  EXPECT_EQ(job.reason, JobReason::kSubmitted);
  EXPECT_EQ(job.last_sequence, 1);
  EXPECT_EQ(job.create_time, absl::FromUnixSeconds(1001));
  EXPECT_EQ(job.LiveAttempt(), nullptr);
  EXPECT_EQ(job.CurrentAttempt(), AttemptNumber(0));
}

TEST(ApplyTest, NothingComesBeforeTheSubmitAndItComesOnce) {
  Job job;
  job.id = JobId(1, 2);
  EXPECT_EQ(Add(job, 0, Notice{}).code(), Code::kFailedPrecondition);
  EXPECT_EQ(Add(job, 0, JobSubmitted{}).code(), Code::kInvalidArgument);
  job = Submitted();
  EXPECT_EQ(Add(job, 0, JobSubmitted{MakeSpec(), 2}).code(),
            Code::kFailedPrecondition);
}

TEST(ApplyTest, SequenceHasNoGapAndNoRepetition) {  // P-32
  Job job = Submitted();
  for (const int64_t sequence : {0, 1, 3, -1}) {
    EXPECT_EQ(Apply(job, {sequence, {}, AttemptNumber(), Notice{}}).code(),
              Code::kFailedPrecondition)
        << sequence;
  }
  EXPECT_TRUE(Apply(job, {2, {}, AttemptNumber(), Notice{}}).ok());
}

TEST(ApplyTest, RefusedEventLeavesTheJobAsItWas) {
  Job job = Running();
  const int64_t sequence = job.last_sequence;
  EXPECT_FALSE(Add(job, 2, FirstStep{1}).ok());
  EXPECT_FALSE(
      Add(job, 0,
          JobStateChanged{JobState::kSucceeded, JobReason::kCompleted, ""})
          .ok());
  EXPECT_EQ(job.last_sequence, sequence);
  EXPECT_EQ(job.state, JobState::kRunning);
}

TEST(ApplyTest, JobStateNeverContradictsItsAttempt) {  // P-38
  Job queued = Submitted();
  EXPECT_FALSE(
      Add(queued, 0,
          JobStateChanged{JobState::kStarting, JobReason::kAssigned, ""})
          .ok());
  Job assigned = Assigned();
  EXPECT_FALSE(
      Add(assigned, 0,
          JobStateChanged{JobState::kRunning, JobReason::kTraining, ""})
          .ok());
  Job running = Running();
  for (const auto& [state, reason] :
       {std::pair(JobState::kQueued, JobReason::kRestartBackoff),
        std::pair(JobState::kSucceeded, JobReason::kCompleted),
        std::pair(JobState::kFailed, JobReason::kBadSpec)}) {
    EXPECT_EQ(Add(running, 0, JobStateChanged{state, reason, ""}).code(),
              Code::kFailedPrecondition)
        << Name(state);
  }
}

TEST(ApplyTest, OnlyOneAttemptIsAliveAndNumbersAreDense) {
  Job job = Assigned();
  AttemptStateChanged again = To(AttemptState::kAssigned);
  again.ranks = Placement();
  EXPECT_EQ(Add(job, 2, again).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(
      Add(job, 1, To(AttemptState::kEnded, AttemptReason::kRankLost)).ok());
  ASSERT_TRUE(
      Add(job, 0,
          JobStateChanged{JobState::kQueued, JobReason::kRestartBackoff, ""})
          .ok());
  EXPECT_EQ(Add(job, 1, again).code(), Code::kFailedPrecondition);
  EXPECT_EQ(Add(job, 3, again).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(Add(job, 2, again).ok());
  EXPECT_EQ(job.CurrentAttempt(), AttemptNumber(2));
}

TEST(ApplyTest, AnOlderAttemptIsFenced) {  // P-16
  Job job = Running();
  ASSERT_TRUE(
      Add(job, 1, To(AttemptState::kEnded, AttemptReason::kWorkerLost)).ok());
  ASSERT_TRUE(
      Add(job, 0,
          JobStateChanged{JobState::kQueued, JobReason::kRestartBackoff, ""})
          .ok());
  EXPECT_EQ(Add(job, 1, CheckpointSaved{MakeCheckpoint("/a")}).code(),
            Code::kFailedPrecondition);
  AttemptStateChanged next = To(AttemptState::kAssigned);
  next.ranks = Placement();
  ASSERT_TRUE(Add(job, 2, next).ok());
  EXPECT_EQ(Add(job, 1, CheckpointSaved{MakeCheckpoint("/a")}).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(Add(job, 2, CheckpointSaved{MakeCheckpoint("/a", 1)}).code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(Add(job, 2, CheckpointSaved{MakeCheckpoint("/a", 2)}).ok());
}

TEST(ApplyTest, PlacementIsWholeAndDoesNotChange) {
  Job job = Submitted();
  AttemptStateChanged body = To(AttemptState::kAssigned);
  EXPECT_EQ(Add(job, 1, body).code(), Code::kInvalidArgument);
  body.ranks = Placement(2);
  body.ranks[1].rank = 2;
  EXPECT_EQ(Add(job, 1, body).code(), Code::kInvalidArgument);
  body.ranks = Placement(2);
  body.ranks[1].devices.clear();
  EXPECT_EQ(Add(job, 1, body).code(), Code::kInvalidArgument);
  body.ranks = Placement(2);
  ASSERT_TRUE(Add(job, 1, body).ok());

  AttemptStateChanged ended =
      To(AttemptState::kEnded, AttemptReason::kCompleted);
  ended.ranks = Placement(1);
  EXPECT_EQ(Add(job, 1, ended).code(), Code::kInvalidArgument);
  ended.ranks = Placement(2);
  ended.ranks[1].exit_code = 0;
  ASSERT_TRUE(Add(job, 1, ended).ok());
  EXPECT_EQ(job.attempts[0].ranks[1].exit_code, 0);
}

TEST(ApplyTest, AnEndHasAReasonAndNothingElseHas) {
  Job job = Assigned();
  EXPECT_EQ(Add(job, 1, To(AttemptState::kStopping)).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(
      Add(job, 1, To(AttemptState::kRunning, AttemptReason::kHang)).code(),
      Code::kInvalidArgument);
  EXPECT_EQ(Add(job, 0,
                JobStateChanged{JobState::kStopping, JobReason::kTraining, ""})
                .code(),
            Code::kInvalidArgument);
}

TEST(ApplyTest, NothingFollowsATerminalState) {  // P-30
  Job job = Submitted();
  ASSERT_TRUE(
      Add(job, 0,
          JobStateChanged{JobState::kCancelled, JobReason::kCancelled, ""})
          .ok());
  EXPECT_EQ(job.end_time, absl::FromUnixSeconds(1002));
  EXPECT_FALSE(Add(job, 0, Notice{}).ok());
  EXPECT_FALSE(
      Add(job, 0,
          JobStateChanged{JobState::kCancelled, JobReason::kCancelled, ""})
          .ok());
}

TEST(ApplyTest, FoldsTimesRestartsAndRunTime) {
  Job job = Running();
  EXPECT_EQ(job.start_time, absl::FromUnixSeconds(1005));
  AttemptStateChanged ended =
      To(AttemptState::kEnded, AttemptReason::kRankLost);
  ended.run_time = absl::Seconds(7);
  ended.counts_as_restart = true;
  ASSERT_TRUE(Add(job, 1, ended).ok());
  EXPECT_EQ(job.num_restarts, 1);
  EXPECT_EQ(job.run_time, absl::Seconds(7));
  EXPECT_EQ(job.LiveAttempt(), nullptr);
  EXPECT_EQ(job.attempts[0].end_time, absl::FromUnixSeconds(1006));
}

TEST(ApplyTest, FoldsCheckpoints) {
  Job job = Running();
  ASSERT_TRUE(Add(job, 1, CheckpointSaved{MakeCheckpoint("/a")}).ok());
  ASSERT_TRUE(Add(job, 1, CheckpointSaved{MakeCheckpoint("/b")}).ok());
  // Saved again, as after a restart from before it: once, and newest.
  ASSERT_TRUE(Add(job, 1, CheckpointSaved{MakeCheckpoint("/a")}).ok());
  ASSERT_EQ(job.checkpoints.size(), 2u);
  EXPECT_EQ(job.checkpoints.back().path, "/a");
  ASSERT_TRUE(Add(job, 1, CheckpointRemoved{MakeCheckpoint("/b")}).ok());
  ASSERT_EQ(job.checkpoints.size(), 1u);
  EXPECT_EQ(Add(job, 1, CheckpointRemoved{MakeCheckpoint("/b")}).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(Add(job, 1, CheckpointSaved{MakeCheckpoint("")}).code(),
            Code::kInvalidArgument);
}

TEST(ApplyTest, TheBestCheckpointTellsTheBestSoFar) {
  struct Case {
    const char* experiment;
    BestMetric best;
  };
  for (const Case& c : {
           Case{R"({"monitor": {"metric": "val/f1"}})", {"val/f1", 0.75, 3}},
           Case{R"({"monitor": {"mode": "min"}})", {"val/loss", 0.25, 3}},
           Case{R"({"monitor": "val/f1"})", {"val/loss", 0.25, 3}},
           Case{"", {"val/loss", 0.25, 3}},
       }) {
    auto spec = std::make_shared<JobSpec>(*MakeSpec());
    spec->experiment_json = c.experiment;
    Job job = Running(spec);
    Checkpoint checkpoint = MakeCheckpoint("/a");
    checkpoint.epoch = 3;
    checkpoint.best = true;
    checkpoint.metrics = {{"val/f1", 0.75}, {"val/loss", 0.25}};
    ASSERT_TRUE(Add(job, 1, CheckpointSaved{checkpoint}).ok());
    EXPECT_EQ(job.best, c.best) << c.experiment;
    checkpoint.path = "/b";
    checkpoint.best = false;
    checkpoint.epoch = 4;
    ASSERT_TRUE(Add(job, 1, CheckpointSaved{checkpoint}).ok());
    EXPECT_EQ(job.best, c.best) << "it was not better";
  }
}

TEST(ApplyTest, TheEndOfTrainingLeavesItsBestAndItsOutputs) {
  Job job = Running();
  TrainingEnded ended;
  ended.best = BestMetric{"val/loss", 0.25, 7};
  ended.outputs = {{"metrics", "/a"}, {"predictions", "/p"}};
  ASSERT_TRUE(Add(job, 1, ended).ok());
  EXPECT_EQ(job.best, ended.best);
  EXPECT_EQ(job.outputs, ended.outputs);
  // One that failed early knows no best; that of before stands.
  ended.best.reset();
  ended.outputs = {{"metrics", "/b"}};
  ASSERT_TRUE(Add(job, 1, ended).ok());
  EXPECT_EQ(job.best->epoch, 7);
  EXPECT_EQ(job.outputs, ended.outputs);
}

TEST(ApplyTest, ARefusalSaysOfWhichJobAndWhy) {
  Job job = Assigned();
  const auto why = [&](int attempt, EventBody body) {
    const absl::Status status = Add(job, attempt, std::move(body));
    EXPECT_FALSE(status.ok());
    const std::string text(status.message());
    const std::string subject = job.id.ResourceName() + ": ";
    EXPECT_EQ(text.find(subject), 0u) << text;
    return text.substr(std::min(text.size(), subject.size()));
  };
  EXPECT_EQ(why(2, FirstStep{1}), "attempt 2 is not the live one");
  EXPECT_EQ(why(1, To(AttemptState::kAssigned)),
            "only a queued job can be assigned");
  EXPECT_EQ(why(1, JobStateChanged{JobState::kStopping,
                                   JobReason::kCancelRequested, ""}),
            "an event of the job names attempt 1");
  EXPECT_EQ(
      why(0, JobStateChanged{JobState::kRunning, JobReason::kTraining, ""}),
      "cannot be running while its attempt is assigned");
  EXPECT_EQ(
      why(0, JobStateChanged{JobState::kCancelled, JobReason::kCancelled, ""}),
      "state cancelled cannot follow starting");
  EXPECT_EQ(
      why(0, JobStateChanged{JobState::kQueued, JobReason::kSubmitted, ""}),
      "cannot be queued while an attempt is alive");
  EXPECT_EQ(
      why(0, JobStateChanged{JobState::kStarting, JobReason::kCompleted, ""}),
      "reason completed does not explain state starting");
  EXPECT_EQ(why(1, CheckpointRemoved{MakeCheckpoint("/x")}),
            "checkpoint '/x' is not recorded");
}

TEST(ApplyTest, KnowsTheLastFinishedEpoch) {
  Job job = Running();
  TrainingBegan began;
  began.total_epochs = 30;
  began.initial_epoch = 1;
  ASSERT_TRUE(Add(job, 1, began).ok());
  EXPECT_EQ(job.epoch, 0);
  EXPECT_EQ(job.total_epochs, 30);
  EpochFinished finished;
  finished.epoch = 7;
  ASSERT_TRUE(Add(job, 1, finished).ok());
  EXPECT_EQ(job.epoch, 7);
  began.initial_epoch = 5;  // resumed from what the fourth left
  ASSERT_TRUE(Add(job, 1, began).ok());
  EXPECT_EQ(job.epoch, 4);
}

TEST(ApplyTest, KnowsTheLastValidationAlsoWithinAnEpoch) {
  Job job = Running();
  EpochFinished finished;
  finished.epoch = 1;
  finished.metrics = {{"train/loss", 1.0}, {"val/f1", 0.5}, {"val/loss", 2.0}};
  ASSERT_TRUE(Add(job, 1, finished).ok());
  const auto metrics = finished.metrics;
  // Neither those of a step nor a test's.
  ASSERT_TRUE(
      Add(job, 1, MetricsLogged{2, 9, {{"train/step_loss", 3.0}}}).ok());
  ASSERT_TRUE(Add(job, 1, MetricsLogged{0, 0, {{"val/loss", 3.0}}}).ok());
  EXPECT_EQ(job.metrics, metrics);
  ASSERT_TRUE(
      Add(job, 1, MetricsLogged{2, 9, {{"train/loss", 0.9}, {"val/loss", 1.5}}})
          .ok());
  EXPECT_EQ(job.metrics, (std::map<std::string, double>{{"train/loss", 1.0},
                                                        {"val/loss", 1.5}}));
  EXPECT_EQ(job.epoch, 1);
}

TEST(ApplyTest, KeepsNumbersThatAreNotFinite) {  // P-93
  Job job = Running();
  EpochFinished finished;
  finished.metrics = {{"train/loss", std::nan("")},
                      {"val/loss", std::numeric_limits<double>::infinity()}};
  ASSERT_TRUE(Add(job, 1, finished).ok());
  EXPECT_TRUE(std::isnan(job.metrics.at("train/loss")));
  EXPECT_TRUE(std::isinf(job.metrics.at("val/loss")));
}

}  // namespace
}  // namespace epochd::job
