// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/outcome.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

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

TEST(Outcome, WritesABestOfAnySize) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const struct {
    double value;
    const char* text;
  } kRows[] = {
      {12.34567, "12.3457"},  {-0.5, "-0.5000"},   {0, "0"},
      {1.25e-5, "1.250e-05"}, {1e60, "1.000e+60"}, {-kMost, "-1.798e+308"},
      {std::nan(""), "nan"},  {HUGE_VAL, "inf"}};
  for (const auto& row : kRows) {
    v1::Job job = Finished(v1::JOB_STATE_SUCCEEDED, v1::JOB_REASON_COMPLETED);
    job.mutable_best()->set_name("val/loss");
    job.mutable_best()->set_value(row.value);
    job.mutable_best()->set_epoch(2);
    EXPECT_EQ(OutcomeText(job, History()),
              std::string("best val/loss ") + row.text + " at epoch 2\n");
  }
}

TEST(Outcome, TakesTheBestOfTheEndWhereTheJobHasNone) {
  History history;
  v1::Event event;
  event.mutable_training_ended()->mutable_best()->set_name("val/loss");
  event.mutable_training_ended()->mutable_best()->set_value(0.25);
  event.mutable_training_ended()->mutable_best()->set_epoch(3);
  history.Add(event);
  v1::Event saved;
  saved.mutable_checkpoint_saved()->mutable_checkpoint()->set_path("/s/c");
  saved.mutable_checkpoint_saved()->mutable_checkpoint()->set_best(true);
  history.Add(saved);
  EXPECT_EQ(
      OutcomeText(Finished(v1::JOB_STATE_SUCCEEDED, v1::JOB_REASON_COMPLETED),
                  history),
      "checkpoint_best  /s/c\nbest val/loss 0.2500 at epoch 3\n");
}

TEST(Outcome, OfWhatTrainsNothingTheScoreHasNoEpoch) {
  v1::Job job = Finished(v1::JOB_STATE_SUCCEEDED, v1::JOB_REASON_COMPLETED);
  job.mutable_best()->set_name("val/psnr");
  job.mutable_best()->set_value(32.64388);
  job.mutable_best()->set_epoch(1);
  for (const char* task : {"validate", "test", "benchmark"}) {
    job.mutable_spec()->set_experiment_json(std::string(R"({"task":")") + task +
                                            "\"}");
    EXPECT_EQ(OutcomeText(job, History()), "val/psnr 32.6439\n") << task;
  }
  for (const char* experiment :
       {R"({"task":"train"})", R"({"model":{}})", "[1]", "no json"}) {
    job.mutable_spec()->set_experiment_json(experiment);
    EXPECT_EQ(OutcomeText(job, History()), "best val/psnr 32.6439 at epoch 1\n")
        << experiment;
  }
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
            "a1 FAILED (training_failed): loss is nan; at step 3\n");
}

}  // namespace
}  // namespace epochd::epochctl
