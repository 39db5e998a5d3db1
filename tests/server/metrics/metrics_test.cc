// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/gauge.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "server/metrics/metered_job_store.h"
#include "server/store/memory_job_store.h"
#include "tests/conformance/job_samples.h"
#include "tests/server/metrics/sample_stats.h"
#include "tests/temp_folder.h"

namespace epochd::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() {
    metrics_.Watch([this] { return stats_; });
  }

  // Runs a command of Prometheus' own tool; says what it printed.
  static std::string Promtool(const std::string& arguments, int& status) {
    TempFolder temp;
    const std::string out = temp / "out";
    status =
        std::system(("promtool " + arguments + " > " + out + " 2>&1").c_str());
    std::ifstream file(out);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }
  static bool HasPromtool() {
    int status = 0;
    Promtool("--version", status);
    return status == 0;
  }

  control::Stats stats_ = SampleStats();
  Metrics metrics_{{.version = "0.1.0", .commit = "abc"}};
};

TEST_F(MetricsTest, ShowsBuildProcessAndFleet) {
  metrics_.event_subscribers().Increment();
  const std::string text = metrics_.Render();
  EXPECT_THAT(
      text, HasSubstr("epochd_build_info{commit=\"abc\",version=\"0.1.0\"} 1"));
  EXPECT_THAT(text, HasSubstr("epochd_event_subscribers 1\n"));
  EXPECT_THAT(text, HasSubstr("epochd_jobs{state=\"running\"} 1\n"));
  for (const char* name :
       {"process_cpu_seconds_total ", "process_resident_memory_bytes ",
        "process_virtual_memory_bytes ", "process_start_time_seconds ",
        "process_open_fds ", "process_max_fds "}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + name));
  }
}

TEST_F(MetricsTest, ProcessNumbersAreOfThisProcess) {
  const auto value = [&](const std::string& name) {
    const std::string text = metrics_.Render();
    const auto at = text.find("\n" + name + " ");
    return at == std::string::npos
               ? -1.0
               : std::stod(text.substr(at + name.size() + 2));
  };
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_LT(value("process_resident_memory_bytes"), 1e10);
  EXPECT_GE(value("process_open_fds"), 3);
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  EXPECT_NEAR(value("process_start_time_seconds"), now, 300);
}

TEST_F(MetricsTest, HelpStaysOnOneLine) {
  prometheus::BuildGauge()
      .Name("odd_gauge")
      .Help("one\nevil_metric 1")
      .Register(metrics_.registry())
      .Add({});
  EXPECT_THAT(metrics_.Render(), Not(HasSubstr("\nevil_metric")));
}

TEST_F(MetricsTest, TextOfUsersCannotBreakALine) {
  stats_.active_jobs = {SampleJobView(1, "a\"} 1\nevil{x=\"\\")};
  const std::string text = metrics_.Render();
  EXPECT_THAT(text, Not(HasSubstr("\nevil")));
  EXPECT_THAT(text, HasSubstr(R"(name="a\"} 1?evil{x=\"\\")"));
}

TEST_F(MetricsTest, PromtoolAcceptsEveryNameAndHelp) {
  if (!HasPromtool()) GTEST_SKIP() << "promtool is not installed";
  store::MemoryJobStore memory;
  MeteredJobStore store(memory, metrics_.registry());
  TempFolder temp;
  const std::string path = temp / "metrics";
  std::ofstream(path) << metrics_.Render();
  int status = 0;
  const std::string out = Promtool("check metrics < " + path, status);
  EXPECT_EQ(status, 0) << out;
  EXPECT_EQ(out, "");
}

TEST_F(MetricsTest, PromtoolAcceptsTheShippedConfigurationAndItsRules) {
  if (!HasPromtool()) GTEST_SKIP() << "promtool is not installed";
  const std::string folder =
      std::string(std::getenv("EPOCHD_TEST_SOURCE_DIR")) +
      "/deploy/prometheus/";
  int status = 0;
  std::string out =
      Promtool("check config " + folder + "prometheus.yml", status);
  EXPECT_EQ(status, 0) << out;
  EXPECT_THAT(out, HasSubstr("rules found")) << "the alerts are loaded";
  out = Promtool("test rules " + folder + "alerts_test.yml", status);
  EXPECT_EQ(status, 0) << out;
}

TEST_F(MetricsTest, TwentyThousandJobsStayWithinTheBudgetOfAScrape) {
  stats_.active_jobs.clear();
  for (uint64_t i = 0; i < 30000; ++i) {
    stats_.active_jobs.push_back(SampleJobView(i, "name"));
    stats_.active_jobs.back().progress.reset();
    auto job = std::make_shared<job::Job>(*stats_.active_jobs.back().job);
    job->metrics.clear();
    job->epoch_time = absl::ZeroDuration();
    job->checkpoints.clear();
    stats_.active_jobs.back().job = job;
  }
  const std::string text = metrics_.Render();
  EXPECT_LT(text.size(), 5u << 20);
  EXPECT_THAT(text, HasSubstr("epochd_metrics_dropped_series_total 10000\n"));
}

TEST(MeteredJobStoreTest, TimesCommitsAndCountsRestarts) {
  Metrics metrics({.version = "0.1.0", .commit = "abc"});
  store::MemoryJobStore memory;
  MeteredJobStore store(memory, metrics.registry());
  EXPECT_THAT(metrics.Render(),
              HasSubstr("epochd_job_restarts_total{reason=\"rank_lost\"} 0\n"));
  ASSERT_TRUE(store.Load().ok());
  store::SampleJob goes_on(1);
  store::SampleJob ends(2);
  ASSERT_TRUE(store.Commit({.jobs = {goes_on.Begin(), ends.Begin()}}).ok());
  job::AttemptStateChanged lost;
  lost.state = job::AttemptState::kEnded;
  lost.reason = job::AttemptReason::kRankLost;
  ASSERT_TRUE(store.Commit({.jobs = {goes_on.Append({lost})}}).ok());
  ends.MoveTo(job::JobState::kFailed);
  EXPECT_TRUE(store.Commit({}).ok());
  const std::string text = metrics.Render();
  EXPECT_THAT(text,
              HasSubstr("epochd_job_restarts_total{reason=\"rank_lost\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("epochd_store_commit_seconds_count 2\n"));
  EXPECT_TRUE(store.ReadJob(goes_on.id()).ok());
}

TEST(MeteredJobStoreTest, AnAttemptThatEndsItsJobIsNoRestart) {
  Metrics metrics({.version = "0.1.0", .commit = "abc"});
  store::MemoryJobStore memory;
  MeteredJobStore store(memory, metrics.registry());
  store::SampleJob job(1);
  ASSERT_TRUE(store.Commit({.jobs = {job.Begin()}}).ok());
  job::AttemptStateChanged lost;
  lost.state = job::AttemptState::kEnded;
  lost.reason = job::AttemptReason::kRankLost;
  store::JobWrite write = job.Append({lost});
  const store::JobWrite end = job.MoveTo(job::JobState::kFailed);
  write.job = end.job;
  write.events.insert(write.events.end(), end.events.begin(), end.events.end());
  ASSERT_TRUE(store.Commit({.jobs = {write}}).ok());
  EXPECT_THAT(metrics.Render(),
              HasSubstr("epochd_job_restarts_total{reason=\"rank_lost\"} 0\n"));
}

}  // namespace
}  // namespace epochd::metrics
