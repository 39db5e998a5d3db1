// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/outcome.h"

#include <gtest/gtest.h>

namespace epochd::epochctl {
namespace {

v1::Job Finished(v1::JobState state, v1::JobReason reason) {
  v1::Job job;
  job.set_name("jobs/a1");
  job.set_state(state);
  job.set_reason(reason);
  return job;
}

TEST(Outcome, EndsWithTheBestOfTheMonitoredMetric) {
  History history;
  v1::Event event;
  v1::TrainingEnded& ended = *event.mutable_training_ended();
  (*ended.mutable_outputs())["tensorboard"] = "/s/tb";
  (*ended.mutable_outputs())["checkpoint_best"] = "/s/best";
  (*ended.mutable_outputs())["metrics"] = "/s/m\x1b[2J.jsonl";
  history.Add(event);
  v1::Job job = Finished(v1::JOB_STATE_SUCCEEDED, v1::JOB_REASON_COMPLETED);
  job.mutable_best()->set_name("val/accuracy");
  job.mutable_best()->set_value(0.975);
  job.mutable_best()->set_epoch(21);
  EXPECT_EQ(OutcomeText(job, history),
            "checkpoint_best  /s/best\n"
            "metrics          /s/m\\x1b[2J.jsonl\n"
            "tensorboard      /s/tb\n"
            "best val/accuracy 0.9750 at epoch 21\n");
}

TEST(Outcome, EndsWithTheStateWhereNothingWasMonitored) {
  EXPECT_EQ(
      OutcomeText(Finished(v1::JOB_STATE_SUCCEEDED, v1::JOB_REASON_COMPLETED),
                  History()),
      "a1 SUCCEEDED\n");
}

TEST(Outcome, SaysWhyAJobDidNotSucceed) {
  v1::Job job = Finished(v1::JOB_STATE_FAILED, v1::JOB_REASON_TRAINING_FAILED);
  job.set_message("loss is nan\nat step 3");
  job.mutable_best()->set_name("val/accuracy");
  EXPECT_EQ(OutcomeText(job, History()),
            "a1 FAILED (training_failed): loss is nan\\nat step 3\n");
}

}  // namespace
}  // namespace epochd::epochctl
