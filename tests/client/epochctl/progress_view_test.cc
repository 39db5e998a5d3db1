// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/progress_view.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace epochd::epochctl {
namespace {

class ProgressViewTest : public testing::Test {
 protected:
  std::string Show(bool is_terminal) {
    std::ostringstream out;
    terminal::Style style;
    style.is_terminal = is_terminal;
    style.width = 80;
    absl::Time now = absl::FromUnixSeconds(0);
    {
      ProgressView view(out, style, [&now] { return now; });
      v1::Event event;
      event.mutable_job_state()->set_state(v1::JOB_STATE_RUNNING);
      event.mutable_job_state()->set_reason(v1::JOB_REASON_TRAINING);
      view.Add(event);
      event.mutable_training_began()->set_total_epochs(30);
      event.mutable_training_began()->set_initial_epoch(1);
      event.mutable_training_began()->set_train_samples(1437);
      event.mutable_training_began()->set_parameters(17226);
      view.Add(event);
      now += absl::Seconds(1);
      v1::Progress& progress = *event.mutable_progress();
      progress.set_epoch(1);
      progress.set_phase("train");
      progress.set_batch(10);
      progress.set_batches(20);
      progress.set_loss(1.25);
      progress.set_samples_per_second(12345);
      view.Add(event);
      now += absl::Seconds(1);
      v1::EpochFinished& epoch = *event.mutable_epoch_finished();
      epoch.set_epoch(1);
      (*epoch.mutable_metrics())["val/accuracy"] = 0.5;
      (*epoch.mutable_metrics())["train/loss"] = 1.5;
      epoch.set_samples_per_second(12345);
      view.Add(event);
      event.mutable_notice()->set_severity(v1::Notice::SEVERITY_WARNING);
      event.mutable_notice()->set_text("slow\x1b[2J disk");
      view.Add(event);
      v1::MetricsLogged& metrics = *event.mutable_metrics();
      (*metrics.mutable_metrics())["test/f1"] = 0.25;
      metrics.set_step(7);
      view.Add(event);
      view.Finish();
    }
    return out.str();
  }
};

constexpr const char* kState = "RUNNING (training)\n";
constexpr const char* kBegan =
    "training 30 epochs, 1437 samples, 17.2k parameters\n";
constexpr const char* kEpoch =
    "epoch  1/30  train/loss 1.5000  val/accuracy 0.5000  12.3k/s  ETA 58s\n";
constexpr const char* kNotice = "rank 0: slow\\x1b[2J disk\n";
constexpr const char* kBar =
    "epoch  1/30 train [###########............]  50%  loss 1.2500  12.3k/s  "
    "ETA "
    "59s";

TEST_F(ProgressViewTest, WritesALinePerEpochWhereThereIsNoTerminal) {
  EXPECT_EQ(Show(false), std::string(kState) + kBegan + kEpoch + kNotice);
}

TEST(ProgressViewFailure, IsToldOnceAndWhole) {
  for (const size_t length : {10, 3000}) {
    std::ostringstream out;
    ProgressView view(out, terminal::Style(), [] { return absl::UnixEpoch(); });
    const std::string first(length, 'x');
    v1::Event event;
    event.mutable_notice()->set_severity(v1::Notice::SEVERITY_ERROR);
    event.mutable_notice()->set_text(first + "\ntwo");
    view.Add(event);
    v1::TrainingEnded& ended = *event.mutable_training_ended();
    ended.set_outcome(v1::TrainingEnded::OUTCOME_FAILED);
    ended.set_message(first + "\ntwo");
    view.Add(event);
    v1::AttemptStateChanged& attempt = *event.mutable_attempt_state();
    attempt.set_state(v1::ATTEMPT_STATE_ENDED);
    attempt.set_reason(v1::ATTEMPT_REASON_BAD_SPEC);
    const std::string words = "rank 0 on a: exit code 78: " + first + "; two";
    // As the agent passes it on.
    const std::string passed =
        length > 500 ? words.substr(0, 500) + " ..." : words;
    attempt.set_message(passed);
    event.set_attempt(1);
    view.Add(event);
    event.mutable_job_state()->set_state(v1::JOB_STATE_FAILED);
    event.mutable_job_state()->set_reason(v1::JOB_REASON_BAD_SPEC);
    event.mutable_job_state()->set_message(passed);
    view.Add(event);
    EXPECT_EQ(out.str(), "rank 0: " + first +
                             "; two\n"
                             "training failed\n"
                             "attempt 1 ended (bad_spec)\n"
                             "FAILED (bad_spec)\n");
  }
}

TEST(ProgressViewTask, ShowsWhatATestMeasured) {
  std::ostringstream out;
  ProgressView view(out, terminal::Style(), [] { return absl::UnixEpoch(); });
  v1::Event event;
  (*event.mutable_metrics()->mutable_metrics())["test/f1"] = 0.25;
  view.Add(event);
  EXPECT_EQ(out.str(), "test/f1 0.2500\n");
}

TEST(ProgressViewTask, ShowsValidationsWithinAnEpoch) {
  std::ostringstream out;
  ProgressView view(out, terminal::Style(), [] { return absl::UnixEpoch(); });
  v1::Event event;
  event.mutable_metrics()->set_epoch(1);
  event.mutable_metrics()->set_step(7);
  (*event.mutable_metrics()->mutable_metrics())["val/loss"] = 0.25;
  view.Add(event);
  EXPECT_EQ(out.str(), "step 7  val/loss 0.2500\n");
}

// What a job that fails sends: the trainer's word, its attempt's, its own.
class FailedViewTest : public testing::Test {
 protected:
  FailedViewTest()
      : view_(out_, terminal::Style(), [] { return absl::UnixEpoch(); }) {}

  void TrainingFailed(const std::string& message) {
    v1::Event event;
    event.mutable_training_ended()->set_outcome(
        v1::TrainingEnded::OUTCOME_FAILED);
    event.mutable_training_ended()->set_message(message);
    view_.Add(event);
  }
  void AttemptEnded(const std::string& message) {
    v1::Event event;
    event.set_attempt(1);
    event.mutable_attempt_state()->set_state(v1::ATTEMPT_STATE_ENDED);
    event.mutable_attempt_state()->set_reason(
        v1::ATTEMPT_REASON_TRAINING_FAILED);
    event.mutable_attempt_state()->set_message(message);
    view_.Add(event);
  }
  void JobFailed(const std::string& message) {
    v1::Event event;
    event.mutable_job_state()->set_state(v1::JOB_STATE_FAILED);
    event.mutable_job_state()->set_reason(v1::JOB_REASON_TRAINING_FAILED);
    event.mutable_job_state()->set_message(message);
    view_.Add(event);
  }

  std::ostringstream out_;
  ProgressView view_;
};

TEST_F(FailedViewTest, TellsAFailureOnce) {
  TrainingFailed("loss is nan at step 3");
  AttemptEnded("loss is nan at step 3");
  JobFailed("loss is nan at step 3");
  EXPECT_EQ(out_.str(),
            "training failed: loss is nan at step 3\n"
            "attempt 1 ended (training_failed)\n"
            "FAILED (training_failed)\n");
}

TEST_F(FailedViewTest, KnowsItAgainBehindWhereItHappened) {
  TrainingFailed("loss is nan");
  AttemptEnded("rank 0 on n1: loss is nan");
  JobFailed("rank 0 on n1: loss is nan");
  EXPECT_EQ(out_.str(),
            "training failed: loss is nan\n"
            "attempt 1 ended (training_failed)\n"
            "FAILED (training_failed)\n");
}

TEST_F(FailedViewTest, TellsEachOfSeveralCauses) {
  AttemptEnded("the disk is full");
  JobFailed("restart.max of 0 was used up");
  EXPECT_EQ(out_.str(),
            "attempt 1 ended (training_failed): the disk is full\n"
            "FAILED (training_failed): restart.max of 0 was used up\n");
}

TEST_F(ProgressViewTest, RedrawsOneBarOnATerminal) {
  const std::string erase = "\r\x1b[K";
  EXPECT_EQ(Show(true), kState + std::string(kBegan) + erase + kBar + erase +
                            kEpoch + erase + kBar + erase + kNotice + erase +
                            kBar + erase);
}

}  // namespace
}  // namespace epochd::epochctl
