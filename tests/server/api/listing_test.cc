// SPDX-License-Identifier: Apache-2.0
//
// Lists whose pages are cut by their bytes, and what lists leave out or show
// only when asked.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/wire/status.h"
#include "tests/server/api/service_fixture.h"

namespace epochd::api {
namespace {

// What clients take in one message, and a little less than the server's limit
// for a page.
constexpr size_t kMostBytes = 4 << 20;

class ListingTest : public ServiceTest {
 protected:
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(
      grpc::Status (v1::JobService::Stub::*method)(grpc::ClientContext*,
                                                   const Request&, Response*),
      const Request& request) {
    Response response;
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    const auto status =
        wire::FromGrpc((jobs_.get()->*method)(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }
  absl::StatusOr<v1::ListJobsResponse> ListJobs(
      const v1::ListJobsRequest& request) {
    return Call(&v1::JobService::Stub::ListJobs, request);
  }
  absl::StatusOr<v1::ListEventsResponse> ListEvents(
      const v1::ListEventsRequest& request) {
    return Call(&v1::JobService::Stub::ListEvents, request);
  }
  std::vector<v1::Checkpoint> Checkpoints(const std::string& job,
                                          bool show_removed) {
    v1::ListCheckpointsRequest request;
    request.set_name(job);
    request.set_show_removed(show_removed);
    const auto response = Call(&v1::JobService::Stub::ListCheckpoints, request);
    EXPECT_TRUE(response.ok()) << response.status();
    if (!response.ok()) return {};
    return {response->checkpoints().begin(), response->checkpoints().end()};
  }
  // A running attempt of a fresh job.
  std::string Start(FakeAgent& agent) {
    EXPECT_TRUE(agent.Register(1).ok());
    job_ = MustSubmit();
    const std::string attempt = agent.WaitForAttempt(job_.name());
    agent.Run(attempt);
    return attempt;
  }

  v1::Job job_;
};

// Nearly as large as a spec may be.
std::string LargeExperiment() {
  std::string text = kGoodExperiment;
  return text.insert(1, 200000, ' ');
}

TEST_F(ListingTest, JobsThatAreLargeComeInMorePagesEachOnce) {
  v1::JobSpec spec = MakeSpec();
  spec.set_experiment_json(LargeExperiment());
  std::vector<std::string> names;
  for (int i = 0; i < 25; ++i) {
    names.insert(names.begin(), MustSubmit(spec).name());
  }
  v1::ListJobsRequest request;
  request.set_page_size(1000);
  request.mutable_read_mask()->add_paths("name");
  request.mutable_read_mask()->add_paths("spec.experiment_json");
  std::vector<std::string> listed;
  int num_pages = 0;
  do {
    const auto page = ListJobs(request);
    ASSERT_TRUE(page.ok()) << page.status();
    ASSERT_GT(page->jobs_size(), 0);
    EXPECT_LT(page->ByteSizeLong(), kMostBytes);
    for (const v1::Job& job : page->jobs()) listed.push_back(job.name());
    request.set_page_token(page->next_page_token());
    ++num_pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(listed, names);
  EXPECT_GT(num_pages, 2);

  // Without what makes them large they fit in one.
  request.Clear();
  request.set_page_size(1000);
  const auto all = ListJobs(request);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->jobs_size(), 25);
  EXPECT_TRUE(all->next_page_token().empty());
}

TEST_F(ListingTest, PagesHoldStillWhileJobsAreSubmittedAndDeleted) {  // P-98
  std::vector<std::string> names;
  for (int i = 0; i < 6; ++i) {
    names.insert(names.begin(), MustSubmit().name());
  }
  v1::ListJobsRequest request;
  request.set_page_size(2);
  auto page = ListJobs(request);
  ASSERT_TRUE(page.ok()) << page.status();
  std::vector<std::string> listed = {page->jobs(0).name(),
                                     page->jobs(1).name()};
  // The one that the next page goes on after is gone, and there are newer ones.
  MustSubmit();
  ASSERT_TRUE(Cancel(names[1]).ok());
  WaitForState(names[1], v1::JOB_STATE_CANCELLED);
  v1::DeleteJobRequest gone;
  gone.set_name(names[1]);
  ASSERT_TRUE(Call(&v1::JobService::Stub::DeleteJob, gone).ok());
  while (!page->next_page_token().empty()) {
    request.set_page_token(page->next_page_token());
    page = ListJobs(request);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const v1::Job& job : page->jobs()) listed.push_back(job.name());
  }
  EXPECT_EQ(listed, names);
}

TEST_F(ListingTest, EventsThatAreLargeComeInMorePagesEachOnce) {
  FakeAgent agent(Connect(), "worker-a");
  const std::string attempt = Start(agent);
  const std::string text(60000, 'x');
  for (int i = 0; i < 80; ++i) {
    agent.Report(attempt,
                 absl::StrCat(R"({"type": "notice", "severity": "info",)"
                              R"( "text": ")",
                              text, R"("})"));
  }
  const int64_t last = Get(job_.name())->last_sequence();
  v1::ListEventsRequest request;
  request.set_name(job_.name());
  request.set_page_size(5000);
  int64_t sequence = 0;
  int num_pages = 0;
  do {
    const auto page = ListEvents(request);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_LT(page->ByteSizeLong(), kMostBytes);
    for (const v1::Event& event : page->events()) {
      ASSERT_EQ(event.sequence(), ++sequence);
    }
    request.set_after(page->next_after());
    ++num_pages;
  } while (request.after() != 0);
  EXPECT_EQ(sequence, last);
  EXPECT_GT(num_pages, 2);
}

TEST_F(ListingTest, APageBehindTheLastEventIsEmptyAndTheLast) {
  v1::ListEventsRequest request;
  request.set_name(MustSubmit().name());
  request.set_after(1000);
  auto page = ListEvents(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->events_size(), 0);
  EXPECT_EQ(page->next_after(), 0);
  request.set_after(-1);
  EXPECT_EQ(wire::Violations(ListEvents(request).status())[0].field, "after");
  request.set_after(0);
  request.set_page_size(-1);
  EXPECT_EQ(wire::Violations(ListEvents(request).status())[0].field,
            "page_size");
}

TEST_F(ListingTest, CheckpointsAreNewestFirstAndRemovedOnesShownWhenAsked) {
  FakeAgent agent(Connect(), "worker-a");
  const std::string attempt = Start(agent);
  for (const char* name : {"a", "b", "c"}) {
    agent.Report(attempt,
                 absl::StrCat(R"({"type": "checkpoint_saved", "path": "/s/)",
                              name, R"(", "epoch": 1, "bytes": 7})"));
  }
  agent.Report(attempt, R"({"type": "checkpoint_removed", "path": "/s/a"})");
  // Not one of ours.
  agent.Report(attempt, R"({"type": "checkpoint_removed", "path": "/s/x"})");
  const auto paths = [&](bool show_removed) {
    std::string text;
    for (const auto& one : Checkpoints(job_.name(), show_removed)) {
      absl::StrAppend(&text, one.path(), one.removed() ? " removed\n" : "\n");
    }
    return text;
  };
  EXPECT_EQ(paths(false), "/s/c\n/s/b\n");
  EXPECT_EQ(paths(true), "/s/c\n/s/b\n/s/a removed\n");
}

TEST_F(ListingTest, ACatalogueIsSentOnlyToWhoDoesNotHaveIt) {
  v1::GetCatalogueRequest request;
  const auto get = [&](v1::Catalogue& catalogue) {
    catalogue.Clear();
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    return wire::FromGrpc(info_->GetCatalogue(&context, request, &catalogue));
  };
  v1::Catalogue catalogue;
  EXPECT_EQ(get(catalogue).code(), absl::StatusCode::kNotFound);
  FakeAgent agent(Connect(), "worker-a");
  ASSERT_TRUE(agent.Register(1, FixtureCatalogue()).ok());
  ASSERT_TRUE(get(catalogue).ok());
  EXPECT_FALSE(catalogue.json().empty());
  request.set_known_sha256(catalogue.sha256());
  ASSERT_TRUE(get(catalogue).ok());
  EXPECT_TRUE(catalogue.json().empty());
  EXPECT_EQ(catalogue.sha256(), request.known_sha256());
}

TEST_F(ListingTest, AFileOfAnotherSizeThanTheUploadIsRefused) {
  const std::string content = "print('hi')\n";
  const std::string hash = Sha256Hex(content);
  ASSERT_TRUE(Upload(hash, {content}).ok());
  const auto refused = Submit(MakeSpec(absl::StrCat(
      R"({"command": {"argv": ["python", "a.py"]}, "files": [{"path": "a.py",)",
      R"("sha256": ")", hash, R"(", "size_bytes": "5"}]})")));
  ASSERT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  const auto violations = wire::Violations(refused.status());
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].field, "files[0]");
  EXPECT_EQ(violations[0].description,
            "size '5' of 'a.py' is not the upload's, '12' is accepted");
}

}  // namespace
}  // namespace epochd::api
