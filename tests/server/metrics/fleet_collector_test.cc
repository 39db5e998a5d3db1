// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/fleet_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <limits>

#include "server/metrics/family.h"
#include "tests/server/metrics/sample_stats.h"

namespace epochd::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

class FleetCollectorTest : public testing::Test {
 protected:
  std::string Text(FleetCollector::Options options = {}) {
    options.now = [] { return absl::FromUnixSeconds(2000); };
    if (collector_ == nullptr) {
      collector_ =
          std::make_unique<FleetCollector>(options, [this] { return stats_; });
    }
    return prometheus::TextSerializer().Serialize(collector_->Collect());
  }
  static std::string Id(uint64_t number) {
    return job::JobId(0, number).ToString();
  }

  control::Stats stats_ = SampleStats();
  std::unique_ptr<FleetCollector> collector_;
};

TEST_F(FleetCollectorTest, ShowsTheFleet) {
  const std::string text = Text();
  for (const char* line :
       {"epochd_jobs{state=\"running\"} 1\n",
        "epochd_jobs{state=\"queued\"} 2\n",
        "epochd_workers{state=\"ready\"} 3\n",
        "epochd_devices{kind=\"cpu\",state=\"free\"} 6\n",
        "epochd_devices{kind=\"cpu\",state=\"used\"} 2\n",
        "epochd_events_total 17\n", "epochd_store_commit_failures_total 1\n",
        "epochd_fenced_requests_total 2\n", "epochd_mailbox_commands 3\n",
        "epochd_metrics_dropped_series_total 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(FleetCollectorTest, EveryStateIsThereFromTheStart) {
  stats_ = {};
  const std::string text = Text();
  for (const auto state : job::AllJobStates()) {
    EXPECT_THAT(text, HasSubstr("epochd_jobs{state=\"" +
                                std::string(job::Name(state)) + "\"} 0\n"));
  }
  for (const auto state : fleet::AllWorkerStates()) {
    EXPECT_THAT(text, HasSubstr("epochd_workers{state=\"" +
                                std::string(fleet::Name(state)) + "\"} 0\n"));
  }
  EXPECT_THAT(text, HasSubstr("epochd_devices{kind=\"gpu\",state=\"used\"} 0"));
  EXPECT_THAT(text, HasSubstr("epochd_job_queue_wait_seconds_count 0"));
}

TEST_F(FleetCollectorTest, TheHistogramIsCumulative) {
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("_seconds_bucket{le=\"0.01\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("_seconds_bucket{le=\"0.1\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("_seconds_bucket{le=\"1\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("_seconds_bucket{le=\"86400\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("_seconds_bucket{le=\"+Inf\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("epochd_job_queue_wait_seconds_count 6\n"));
  EXPECT_THAT(text, HasSubstr("epochd_job_queue_wait_seconds_sum 90000.5\n"));
  EXPECT_THAT(text, HasSubstr("epochd_scheduler_pass_seconds_bucket"
                              "{le=\"0.001\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("epochd_scheduler_pass_seconds_count 3\n"));
}

TEST_F(FleetCollectorTest, ShowsAnActiveJob) {
  const std::string text = Text();
  const std::string id = "job_id=\"" + Id(1) + "\"";
  for (const std::string& line :
       {"epochd_job_info{" + id + ",name=\"digits\",project=\"vision\"} 1\n",
        "epochd_train_epoch{" + id + "} 4\n",
        // The phase that runs shows its newest loss, others their last.
        "epochd_train_loss{" + id + ",phase=\"train\"} 0.25\n",
        "epochd_train_loss{" + id + ",phase=\"val\"} 0.75\n",
        "epochd_train_metric{" + id +
            ",phase=\"val\",metric=\"accuracy\"} 0.9\n",
        "epochd_train_samples_per_second{" + id + "} 5000\n",
        "epochd_train_epoch_seconds{" + id + "} 20\n",
        "epochd_train_data_wait_seconds{" + id + "} 1.5\n",
        "epochd_checkpoint_age_seconds{" + id + "} 10\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("job=\""))) << "job is Prometheus' own label";
}

TEST_F(FleetCollectorTest, SeriesVanishWithTheJob) {
  EXPECT_THAT(Text(), HasSubstr(Id(1)));
  stats_.active_jobs.clear();
  EXPECT_THAT(Text(), Not(HasSubstr(Id(1))));
}

TEST_F(FleetCollectorTest, AJobWithoutNewsHasNoMadeUpNumbers) {
  auto job = std::make_shared<job::Job>();
  job->id = job::JobId(0, 2);
  job->spec = std::make_shared<job::JobSpec>();
  control::JobView view;
  view.job = job;
  stats_.active_jobs = {view};
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("epochd_job_info{job_id=\"" + Id(2)));
  EXPECT_THAT(text, Not(HasSubstr("epochd_train_epoch{")));
  EXPECT_THAT(text, Not(HasSubstr("epochd_checkpoint_age_seconds{")));
}

TEST_F(FleetCollectorTest, ACheckpointFromTheFutureIsNew) {
  auto job = std::make_shared<job::Job>(*stats_.active_jobs[0].job);
  job->checkpoints[0].create_time = absl::FromUnixSeconds(3000);
  stats_.active_jobs[0].job = job;
  EXPECT_THAT(Text(), HasSubstr("epochd_checkpoint_age_seconds{job_id=\"" +
                                Id(1) + "\"} 0\n"));
}

TEST_F(FleetCollectorTest, NonFiniteLossesAreShown) {
  stats_.active_jobs[0].progress->loss =
      std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Text(), HasSubstr("phase=\"train\"} Nan"));
}

TEST_F(FleetCollectorTest, AFamilyThatIsFullDropsAndCounts) {
  stats_.active_jobs.clear();
  for (uint64_t i = 0; i < 10; ++i) {
    stats_.active_jobs.push_back(SampleJobView(i, "x"));
    stats_.active_jobs.back().job = [&] {
      auto job = std::make_shared<job::Job>(*stats_.active_jobs.back().job);
      job->metrics.clear();
      return job;
    }();
  }
  // Seven families have one series for each job.
  FleetCollector::Options options;
  options.max_series_per_family = 8;
  const std::string text = Text(options);
  EXPECT_THAT(text, HasSubstr(Id(7)));
  EXPECT_THAT(text, Not(HasSubstr(Id(8))));
  EXPECT_THAT(text, HasSubstr("epochd_metrics_dropped_series_total 14\n"));
  EXPECT_THAT(Text(), HasSubstr("epochd_metrics_dropped_series_total 28\n"))
      << "a counter grows with each scrape that drops";
}

TEST_F(FleetCollectorTest, ManyOrOddMetricsOfAJobAreDropped) {
  auto job = std::make_shared<job::Job>(*stats_.active_jobs[0].job);
  job->metrics = {
      {"val/ok_1", 1}, {"val/", 2},    {"/x", 3},
      {"plain", 4},    {"val/a b", 5}, {"val/UPPER", 6},
      {"val/a\"b", 7}, {"val/a/b", 8}, {"val/" + std::string(33, 'a'), 9}};
  for (int i = 0; i < 40; ++i) job->metrics["x/m" + std::to_string(i)] = i;
  stats_.active_jobs[0].job = job;
  FleetCollector::Options options;
  options.max_metrics_per_job = 10;
  const std::string text = Text(options);
  EXPECT_THAT(text, HasSubstr("metric=\"ok_1\"} 1\n"));
  // 8 odd ones, and 31 of 41 good ones.
  EXPECT_THAT(text, HasSubstr("epochd_metrics_dropped_series_total 39\n"));
  EXPECT_THAT(text, Not(HasSubstr("UPPER")));
}

TEST(LabelTextTest, KeepsOneLineOfValidText) {
  const struct {
    std::string given;
    std::string expected;
  } rows[] = {
      {"digits", "digits"},
      {"h\xc3\xa9llo", "h\xc3\xa9llo"},
      {"a\nb\x1b[31m", "a?b?[31m"},
      {"bad \xff\xfe", "bad ??"},
      {"cut \xc3", "cut ?"},
      {std::string(200, 'x'), std::string(128, 'x')},
      {std::string(127, 'x') + "\xc3\xa9", std::string(127, 'x')},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(LabelText(row.given), row.expected) << row.given;
  }
}

}  // namespace
}  // namespace epochd::metrics
