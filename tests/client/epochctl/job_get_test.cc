// SPDX-License-Identifier: Apache-2.0
//
// What `status` shows of a job in each part of its life.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/time.h"
#include "client/epochctl/exit_code.h"
#include "tests/client/epochctl/coordinator.h"

namespace epochd::epochctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class JobGetTest : public CoordinatorTest {
 protected:
  // `status` of a job given as text format.
  std::string Status(const std::string& job) {
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(job, &server_.jobs.job))
        << job;
    server_.jobs.job.set_name("jobs/a1");
    EXPECT_EQ(Run({"status", "a1"}), kOk) << err();
    return out();
  }
};

TEST_F(JobGetTest, ShowsAJobThatWaits) {
  EXPECT_EQ(Status("state: JOB_STATE_QUEUED reason: JOB_REASON_NO_FREE_DEVICES "
                   "message: '2 of 3 are held' queue_position: 4 "
                   "create_time {seconds: 999999} "
                   "spec {display_name: 'd' project: 'p' resources {replicas "
                   "{min: 3 max: 3}}}"),
            "name        jobs/a1\n"
            "called      d\n"
            "project     p\n"
            "state       QUEUED (no_free_devices: 2 of 3 are held)\n"
            "queue       place 4\n"
            "age         1s\n"
            "replicas    3\n");
}

TEST_F(JobGetTest, ShowsAJobThatTrains) {
  EXPECT_EQ(
      Status("state: JOB_STATE_RUNNING reason: JOB_REASON_TRAINING "
             "create_time {seconds: 999900} start_time {seconds: 999940} "
             "spec {resources {replicas {max: 3}}} "
             "progress {epoch: 2 total_epochs: 9 samples_per_second: 1500} "
             "metrics {key: 'val/loss' value: 0.25} "
             "best {name: 'val/loss' value: 0.25 epoch: 1} "
             "attempts {name: 'jobs/a1/attempts/1' state: "
             "ATTEMPT_STATE_ENDED reason: ATTEMPT_REASON_WORKER_LOST "
             "message: 'n1' ranks {worker: 'workers/n1'}} "
             "attempts {name: 'jobs/a1/attempts/2' state: "
             "ATTEMPT_STATE_RUNNING ranks {worker: 'workers/n2'} ranks "
             "{worker: 'workers/n1'} ranks {worker: 'workers/n2'}}"),
      "name        jobs/a1\n"
      "state       RUNNING (training)\n"
      "age         1m40s\n"
      "started     1m00s ago\n"
      "replicas    3\n"
      "epoch       2/9, 1.5k samples/s\n"
      "metrics     val/loss 0.2500\n"
      "best        val/loss 0.2500 (1)\n"
      "attempt 1   ended (worker_lost) on n1: n1\n"
      "attempt 2   running on n1, n2 x2\n");
}

TEST_F(JobGetTest, ShowsWhenAFinishedJobEndedAndHowLongItRan) {
  const std::string text = Status(
      "state: JOB_STATE_SUCCEEDED reason: JOB_REASON_COMPLETED "
      "create_time {seconds: 999000} start_time {seconds: 999700} "
      "end_time {seconds: 999912} spec {experiment_json: '{\"task\": "
      "\"test\"}'} best {name: 'test/loss' value: 0.25 epoch: 1}");
  const std::string end =
      absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez", absl::FromUnixSeconds(999912),
                       absl::LocalTimeZone());
  EXPECT_THAT(text, HasSubstr("started     5m00s ago\n"
                              "ended       " +
                              end +
                              ", 1m28s ago\n"
                              "took        3m32s\n"));
  EXPECT_THAT(text, Not(HasSubstr("best"))) << "nothing was trained";
  EXPECT_THAT(Status("state: JOB_STATE_CANCELLED end_time {seconds: 999912}"),
              Not(HasSubstr("took")))
      << "never began";
}

TEST_F(JobGetTest, LeavesOutWhatIsNotKnown) {
  const std::string text = Status("state: JOB_STATE_FAILED");
  for (const char* key : {"queue", "started", "ended", "took", "epoch",
                          "metrics", "best", "attempt", "called"}) {
    EXPECT_THAT(text, Not(HasSubstr(key)));
  }
  EXPECT_THAT(text, HasSubstr("age         -\n"));
}

TEST_F(JobGetTest, PrintsTheWholeMessageForPrograms) {
  Status("state: JOB_STATE_FAILED message: 'a\\nb'");
  EXPECT_EQ(Run({"status", "a1", "-o", "json"}), kOk);
  EXPECT_THAT(out(), HasSubstr("\"message\": \"a\\nb\""));
  EXPECT_EQ(Run({"status", "a1", "-o", "yaml"}), kOk);
  EXPECT_THAT(out(), HasSubstr("state: JOB_STATE_FAILED\n"));
  EXPECT_EQ(Run({"status", "jobs/a1", "-o", "name"}), kOk);
  EXPECT_EQ(out(), "jobs/a1\n");
}

}  // namespace
}  // namespace epochd::epochctl
