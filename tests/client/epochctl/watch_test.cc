// SPDX-License-Identifier: Apache-2.0
//
// watch, wait and logs -f through broken connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/epochctl/exit_code.h"
#include "tests/client/epochctl/coordinator.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const grpc::Status kBroken(grpc::StatusCode::UNAVAILABLE, "cut");

class WatchTest : public CoordinatorTest {
 protected:
  static v1::Event Epoch(int64_t sequence, int64_t epoch) {
    v1::Event event;
    event.set_sequence(sequence);
    event.mutable_epoch_finished()->set_epoch(epoch);
    (*event.mutable_epoch_finished()->mutable_metrics())["val/loss"] = 0.5;
    return event;
  }
};

TEST_F(WatchTest, SaysThatTheConnectionBrokeAndCameBack) {
  server_.jobs.rounds = {
      {{Epoch(1, 1)}, {}, kBroken},
      {{Epoch(2, 2), client::Ended(3, v1::JOB_STATE_SUCCEEDED)}, {}, {}}};
  server_.jobs.job.set_state(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Run({"watch", "a1"}), kOk);
  EXPECT_EQ(err(),
            "epoch 1  val/loss 0.5000\n"
            "connection lost, trying again: cut\n"
            "connected again\n"
            "epoch 2  val/loss 0.5000\n"
            "SUCCEEDED (unspecified)\n");
  EXPECT_THAT(server_.jobs.afters, testing::ElementsAre(0, 1));
}

TEST_F(WatchTest, BeginsAfterTheEventGiven) {
  EndsWith(v1::JOB_STATE_CANCELLED);
  server_.jobs.rounds[0].events[0].set_sequence(8);
  EXPECT_EQ(Run({"watch", "a1", "--after", "7"}), kJobCancelled);
  EXPECT_THAT(server_.jobs.afters, testing::ElementsAre(7));
}

TEST_F(WatchTest, FindsTheEndOfAJobWhoseLastEventWasSeen) {
  server_.jobs.rounds = {{{}, {}, {}}};
  server_.jobs.job.set_state(v1::JOB_STATE_FAILED);
  server_.jobs.job.set_last_sequence(5);
  EXPECT_EQ(Run({"watch", "a1", "--after", "5"}), kJobFailed);
}

TEST_F(WatchTest, WaitsWithoutAWordButTheState) {
  server_.jobs.rounds = {{{Epoch(1, 1)}, {}, kBroken},
                         {{client::Ended(2, v1::JOB_STATE_FAILED)}, {}, {}}};
  EXPECT_EQ(Run({"job", "wait", "a1", "--timeout", "1h"}), kJobFailed);
  EXPECT_EQ(out(), "FAILED\n");
  EXPECT_EQ(err(), "");
  EndsWith(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Run({"job", "wait", "a1", "-q"}), kOk);
  EXPECT_EQ(out() + err(), "");
}

TEST_F(WatchTest, FollowsALogOverABreakWithoutDoubles) {
  server_.jobs.rounds = {{{}, {client::Chunk(1, 0, "one\n")}, kBroken},
                         {{},
                          {client::Chunk(1, 0, "one\ntwo\n"),
                           client::LastChunk(v1::JOB_STATE_SUCCEEDED)},
                          {}}};
  EXPECT_EQ(Run({"logs", "-f", "a1"}), kOk);
  EXPECT_EQ(out(), "one\ntwo\n");
  EXPECT_TRUE(server_.jobs.log_requests[0].follow());
}

TEST_F(WatchTest, LogsOfAFailedJobSayWhyItFailed) {
  EndsWith(v1::JOB_STATE_FAILED);
  server_.jobs.rounds[0].chunks = {client::LastChunk(v1::JOB_STATE_FAILED)};
  server_.jobs.job.set_message("one\ntwo");
  EXPECT_EQ(Run({"logs", "a1"}), kOk);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), "a1 FAILED (training): one; two\n");
  EXPECT_EQ(Run({"logs", "a1", "-q"}), kOk);
  EXPECT_EQ(err(), "");
}

TEST_F(WatchTest, LogsOfARankThatIsNotThereAreRefused) {
  EndsWith(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Run({"logs", "a1", "--rank", "1"}), kOk) << err();
  for (const char* rank : {"2", "-1"}) {
    EXPECT_EQ(Run({"logs", "a1", "--rank", rank}), kUsage);
    EXPECT_THAT(err(), HasSubstr(std::string("--rank: the job has no rank ") +
                                 rank + ", 0 to 1 is accepted"));
  }
}

TEST_F(WatchTest, KeepsALogsBytesUnlessATerminalWouldObeyThem) {
  server_.jobs.rounds = {{{},
                          {client::Chunk(1, 0, "a\x1b[2Jb\n"),
                           client::LastChunk(v1::JOB_STATE_RUNNING)},
                          {}}};
  EXPECT_EQ(Run({"logs", "a1"}), kOk);
  EXPECT_EQ(out(), "a\x1b[2Jb\n");
  style_.is_terminal = true;
  EXPECT_EQ(Run({"logs", "a1"}), kOk);
  EXPECT_THAT(out(), Not(HasSubstr("\x1b[2J")));
}

TEST_F(WatchTest, ATerminalShowsWhyAJobFailedOnce) {
  v1::Event last = client::Ended(1, v1::JOB_STATE_FAILED);
  last.mutable_job_state()->set_message("the loss is nan");
  server_.jobs.rounds = {{{last}, {}, {}}};
  server_.jobs.job.set_state(v1::JOB_STATE_FAILED);
  server_.jobs.job.set_message("the loss is nan");
  EXPECT_EQ(Run({"watch", "a1"}), kJobFailed);
  EXPECT_THAT(err(), HasSubstr("the loss is nan"));
  EXPECT_THAT(out(), HasSubstr("the loss is nan")) << "for whoever keeps it";
  style_.is_terminal = true;
  EXPECT_EQ(Run({"watch", "a1"}), kJobFailed);
  EXPECT_THAT(err(), HasSubstr("the loss is nan"));
  EXPECT_EQ(out(), "a1 FAILED (training)\n");
  // Where the event was not among those watched, nothing has told it yet.
  server_.jobs.rounds = {{{}, {}, {}}};
  server_.jobs.job.set_last_sequence(1);
  EXPECT_EQ(Run({"watch", "a1", "--after", "1"}), kJobFailed);
  EXPECT_THAT(out(), HasSubstr("the loss is nan"));
}

TEST_F(WatchTest, SaysWhyAJobWaitsAndAgainWhenThatChanges) {
  v1::Event queued;
  queued.set_sequence(1);
  queued.mutable_job_state()->set_state(v1::JOB_STATE_QUEUED);
  queued.mutable_job_state()->set_reason(v1::JOB_REASON_SUBMITTED);
  server_.jobs.rounds = {
      {{queued, client::Ended(2, v1::JOB_STATE_CANCELLED)}, {}, {}, 8}};
  v1::Job waiting = server_.jobs.job;
  waiting.set_state(v1::JOB_STATE_QUEUED);
  waiting.set_reason(v1::JOB_REASON_NO_WORKERS);
  waiting.set_message("no worker is connected");
  server_.jobs.answers.assign(4, waiting);
  waiting.set_reason(v1::JOB_REASON_UNSATISFIABLE);
  waiting.set_message("needs 1 rank on gpu");
  server_.jobs.answers.insert(server_.jobs.answers.end(), 4, waiting);
  server_.jobs.job.set_state(v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(Run({"watch", "a1"}), kJobCancelled);
  // Another thread asks why: the event may come before that or meanwhile.
  std::string told = err();
  const std::string event = "QUEUED (submitted)\n";
  ASSERT_THAT(told, HasSubstr(event));
  told.erase(told.find(event), event.size());
  EXPECT_EQ(told,
            "waiting (no_workers: no worker is connected)\n"
            "waiting (unsatisfiable: needs 1 rank on gpu)\n"
            "CANCELLED (unspecified)\n");
}

TEST_F(WatchTest, PutsWhereResultsAreOnStandardOutput) {
  EndsWith(v1::JOB_STATE_SUCCEEDED);
  v1::Event ended;
  ended.set_sequence(1);
  (*ended.mutable_training_ended()->mutable_outputs())["metrics"] = "/s/m";
  v1::Event last = client::Ended(2, v1::JOB_STATE_SUCCEEDED);
  server_.jobs.rounds = {{{ended, last}, {}, {}}};
  EXPECT_EQ(Run({"watch", "a1"}), kOk);
  EXPECT_EQ(out(), "metrics  /s/m\nbest val/accuracy 0.9750 at epoch 11\n");
}

}  // namespace
}  // namespace epochd::epochctl
