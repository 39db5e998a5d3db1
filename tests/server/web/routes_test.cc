// SPDX-License-Identifier: Apache-2.0
#include "server/web/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/server/metrics/sample_stats.h"

namespace epochd::web {
namespace {

using testing::HasSubstr;
using testing::Not;

StatusSnapshot SampleSnapshot() {
  StatusSnapshot snapshot;
  snapshot.version = "0.1.0";
  snapshot.cluster_id = "c1";
  snapshot.now = absl::FromUnixSeconds(1065);
  snapshot.stats = SampleStats();
  snapshot.jobs = {SampleJobView(1, "digits")};
  fleet::WorkerView worker;
  worker.record.id = job::WorkerId("w1");
  worker.record.hostname = "node-7";
  worker.record.devices.resize(4);
  worker.held["cpu:0"] = {};
  worker.state = fleet::WorkerState::kReady;
  snapshot.workers = {worker};
  return snapshot;
}

class RoutesTest : public testing::Test {
 protected:
  Routes Make() {
    return MakeRoutes({
        .metrics = [] { return std::string("epochd_up 1\n"); },
        .status = [this] { return snapshot_; },
        .ask_control =
            [this](absl::AnyInvocable<void()> answer) {
              if (alive_) {
                answer();
              } else {
                unanswered_.push_back(std::move(answer));
              }
            },
        .ready = [this] { return ready_; },
        .deadline = absl::Milliseconds(20),
    });
  }

  StatusSnapshot snapshot_ = SampleSnapshot();
  bool alive_ = true;
  absl::Status ready_;
  std::vector<absl::AnyInvocable<void()>> unanswered_;
};

TEST_F(RoutesTest, AliveIsWhenTheControlThreadAnswers) {
  EXPECT_EQ(Make().at("/healthz")().status, 200);
  alive_ = false;
  const Response response = Make().at("/healthz")();
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, HasSubstr("did not answer"));
  // An answer that comes too late reaches nobody, and harms nobody.
  for (auto& answer : unanswered_) answer();
}

TEST_F(RoutesTest, AWorkerIsShownWithWhatItSays) {
  snapshot_.workers[0].state = fleet::WorkerState::kNotReady;
  snapshot_.workers[0].message = "its disk is full";
  EXPECT_THAT(Make().at("/")().body, HasSubstr("not_ready: its disk is full"));
}

TEST_F(RoutesTest, ReadyIsWhatTheProcessSays) {
  EXPECT_EQ(Make().at("/readyz")().status, 200);
  ready_ = absl::UnavailableError("loading the store");
  EXPECT_EQ(Make().at("/readyz")().status, 503);
  EXPECT_EQ(Make().at("/readyz")().body, "loading the store\n");
}

TEST_F(RoutesTest, MetricsHaveTheTextFormatsType) {
  const Response response = Make().at("/metrics")();
  EXPECT_EQ(response.body, "epochd_up 1\n");
  EXPECT_THAT(response.content_type, HasSubstr("version=0.0.4"));
}

TEST_F(RoutesTest, ThePageShowsJobsAndWorkers) {
  const std::string page = Make().at("/")().body;
  for (const char* text :
       {"digits", "running", "training", "epoch 4/30 train 10/20", "1m5s ago",
        "w1", "node-7", "<td>1/4</td>", "2 queued, 1 running"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
}

TEST_F(RoutesTest, ThePageSaysWhyAndWhereAJobWaits) {
  control::JobView& view = snapshot_.jobs[0];
  view.reason = job::JobReason::kNoFreeDevices;
  view.message = "needs 2 ranks & more";
  view.queue_position = 3;
  view.progress.reset();
  const std::string page = Make().at("/")().body;
  EXPECT_THAT(page, HasSubstr(" #3</td>"));
  EXPECT_THAT(page, HasSubstr("no_free_devices: needs 2 ranks &amp; more"));
  EXPECT_THAT(page, Not(HasSubstr("epoch 4/30")));
}

TEST_F(RoutesTest, ThePageOfAnEmptyCoordinatorSaysSo) {
  snapshot_.jobs.clear();
  snapshot_.workers.clear();
  snapshot_.stats = {};
  const std::string page = Make().at("/")().body;
  EXPECT_THAT(page, HasSubstr("<p>no jobs</p>"));
  EXPECT_THAT(page, HasSubstr("</html>"));
  // A worker known from before a restart was never seen, and a job submitted
  // under a clock that was ahead is no less than new.
  fleet::WorkerView worker;
  worker.record.id = job::WorkerId("w1");
  worker.state = fleet::WorkerState::kUnreachable;
  snapshot_.workers = {worker};
  snapshot_.jobs = {SampleJobView(1, "digits")};
  snapshot_.now = absl::FromUnixSeconds(5);
  const std::string odd = Make().at("/")().body;
  EXPECT_THAT(odd, HasSubstr("<td></td></tr>"));
  EXPECT_THAT(odd, HasSubstr("0 ago"));
  EXPECT_THAT(odd, Not(HasSubstr("<td>-")));
}

TEST_F(RoutesTest, ThePageLoadsNothingFromElsewhereAndRunsNothing) {
  const std::string page = Make().at("/")().body;
  for (const char* text : {"http:", "https:", "<script", "style=\"", "src="}) {
    EXPECT_THAT(page, Not(HasSubstr(text)));
  }
  EXPECT_THAT(page, HasSubstr("/style.css"));
  EXPECT_EQ(Make().at("/style.css")().content_type, "text/css; charset=utf-8");
}

TEST_F(RoutesTest, TextOfUsersIsEscapedOnThePage) {
  snapshot_.jobs = {SampleJobView(1, "<script>alert('x')</script>")};
  snapshot_.jobs[0].message = "\" onload=\"x";
  snapshot_.jobs[0].progress->phase = "<b>";
  snapshot_.workers[0].record.hostname = "<img src=x>";
  const std::string page = Make().at("/")().body;
  for (const char* text : {"<script", "<b>", "<img", "\" onload"}) {
    EXPECT_THAT(page, Not(HasSubstr(text)));
  }
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)"));
}

TEST(EscapeHtmlTest, KeepsTextShortAndOnOneLine) {
  EXPECT_EQ(EscapeHtml("a\nb\x1b[0m"), "a b [0m");
  EXPECT_EQ(EscapeHtml("&<>\"'"), "&amp;&lt;&gt;&quot;&#39;");
  EXPECT_EQ(EscapeHtml(std::string(1000, 'x')).size(), 303);
}

}  // namespace
}  // namespace epochd::web
