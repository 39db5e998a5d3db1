// SPDX-License-Identifier: Apache-2.0
#include "server/api/job_service.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/wire/status.h"
#include "tests/server/api/service_fixture.h"

namespace epochd::api {
namespace {

class JobServiceTest : public ServiceTest {
 protected:
  absl::StatusOr<v1::ListJobsResponse> List(
      const v1::ListJobsRequest& request) {
    v1::ListJobsResponse response;
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    const auto status =
        wire::FromGrpc(jobs_->ListJobs(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }
  absl::Status Delete(const std::string& name) {
    v1::DeleteJobRequest request;
    request.set_name(name);
    v1::DeleteJobResponse response;
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    return wire::FromGrpc(jobs_->DeleteJob(&context, request, &response));
  }
};

TEST_F(JobServiceTest, SubmittedJobIsQueuedWithItsSpecAndAReason) {
  const v1::Job job = MustSubmit();
  EXPECT_EQ(job.name().rfind("jobs/", 0), 0u);
  EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  EXPECT_NE(job.reason(), v1::JOB_REASON_UNSPECIFIED);
  EXPECT_EQ(job.spec().display_name(), "digits");
  EXPECT_EQ(job.spec().priority(), 50);
  EXPECT_FALSE(job.etag().empty());
  const auto got = Get(job.name());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->spec().experiment_json(), MakeSpec().experiment_json());
}

TEST_F(JobServiceTest, SameRequestIdGivesOneJob) {
  const auto first = Submit(MakeSpec(), "0c8e1e0e-9d1c-4a8e-b5c8-000000000001");
  const auto second =
      Submit(MakeSpec(), "0c8e1e0e-9d1c-4a8e-b5c8-000000000001");
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_EQ(first->name(), second->name());
  EXPECT_EQ(List({})->jobs_size(), 1);
  EXPECT_EQ(Submit(MakeSpec(R"({"priority": 1})"),
                   "0c8e1e0e-9d1c-4a8e-b5c8-000000000001")
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(wire::Violations(Submit(MakeSpec(), "a b").status())[0].field,
            "request_id");
}

TEST_F(JobServiceTest, BadSpecIsRefusedWithEveryFieldAndAReason) {
  const auto job = Submit(MakeSpec(R"({"priority": 200, "project": "A B"})"));
  ASSERT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument);
  std::set<std::string> fields;
  for (const auto& violation : wire::Violations(job.status())) {
    fields.insert(violation.field);
  }
  EXPECT_EQ(fields, (std::set<std::string>{"priority", "project"}));
  EXPECT_EQ(wire::Reason(job.status()), "SPEC_INVALID");
  EXPECT_EQ(List({})->jobs_size(), 0);
}

TEST_F(JobServiceTest, ValidateJobListsViolationsOrGivesAHint) {
  v1::ValidateJobRequest request;
  *request.mutable_spec() = MakeSpec(R"({"priority": 200})");
  v1::ValidateJobResponse response;
  {
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    ASSERT_TRUE(jobs_->ValidateJob(&context, request, &response).ok());
  }
  ASSERT_EQ(response.violations_size(), 1);
  EXPECT_EQ(response.violations(0).field(), "priority");
  EXPECT_TRUE(response.scheduling_hint().empty());
  *request.mutable_spec() = MakeSpec();
  response.Clear();
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  ASSERT_TRUE(jobs_->ValidateJob(&context, request, &response).ok());
  EXPECT_EQ(response.violations_size(), 0);
  EXPECT_FALSE(response.scheduling_hint().empty());
}

TEST_F(JobServiceTest, ValidateOnlyQueuesNothing) {
  v1::SubmitJobRequest request;
  *request.mutable_spec() = MakeSpec();
  request.set_validate_only(true);
  v1::Job job;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  ASSERT_TRUE(jobs_->SubmitJob(&context, request, &job).ok());
  EXPECT_TRUE(job.name().empty());
  EXPECT_EQ(job.spec().project(), "default");
  EXPECT_EQ(List({})->jobs_size(), 0);
}

TEST_F(JobServiceTest, FilesMustHaveBeenUploaded) {
  const std::string content = "print('hi')\n";
  const std::string hash = Sha256Hex(content);
  const v1::JobSpec spec = MakeSpec(absl::StrCat(
      R"({"command": {"argv": ["python", "a.py"]}, "files": [{"path": "a.py",)",
      R"("sha256": ")", hash, R"(", "size_bytes": ")", content.size(),
      R"("}]})"));
  const auto refused = Submit(spec);
  ASSERT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(wire::Violations(refused.status())[0].field, "files[0]");
  EXPECT_EQ(wire::Reason(refused.status()), "FILE_MISSING");
  const auto uploaded = Upload(hash, {content.substr(0, 3), content.substr(3)});
  ASSERT_TRUE(uploaded.ok()) << uploaded.status();
  EXPECT_EQ(*uploaded, hash);
  EXPECT_TRUE(Submit(spec).ok());
}

TEST_F(JobServiceTest, UploadChecksHashSizeAndOrder) {
  EXPECT_EQ(Upload(Sha256Hex("other"), {"content"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Upload("nonsense", {"content"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Upload(Sha256Hex("x"),
                   std::vector<std::string>(17, std::string(1 << 20, 'x')))
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  v1::UploadFileResponse response;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  auto writer = jobs_->UploadFile(&context, &response);
  v1::UploadFileRequest request;
  request.set_data("data first");
  writer->Write(request);
  writer->WritesDone();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(JobServiceTest, ListPagesNewestFirstBoundToTheQuery) {
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.insert(names.begin(), MustSubmit().name());
  }
  MustSubmit(MakeSpec(R"({"project": "other"})"));
  v1::ListJobsRequest request;
  request.set_project("default");
  request.set_page_size(2);
  std::vector<std::string> listed;
  do {
    const auto page = List(request);
    ASSERT_TRUE(page.ok()) << page.status();
    ASSERT_LE(page->jobs_size(), 2);
    for (const v1::Job& job : page->jobs()) listed.push_back(job.name());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(listed, names);

  request.set_page_token(List(request)->next_page_token());
  request.set_project("other");
  EXPECT_EQ(List(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(JobServiceTest, ListFiltersAndMasks) {
  MustSubmit(MakeSpec(R"({"labels": {"team": "a"}})"));
  MustSubmit(MakeSpec(R"({"labels": {"team": "b"}})"));
  v1::ListJobsRequest request;
  (*request.mutable_labels())["team"] = "b";
  auto page = List(request);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->jobs_size(), 1);
  EXPECT_EQ(page->jobs(0).spec().labels().at("team"), "b");
  EXPECT_TRUE(page->jobs(0).spec().experiment_json().empty());

  request.mutable_read_mask()->add_paths("name");
  request.mutable_read_mask()->add_paths("spec.experiment_json");
  page = List(request);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_FALSE(page->jobs(0).spec().experiment_json().empty());
  EXPECT_EQ(page->jobs(0).state(), v1::JOB_STATE_UNSPECIFIED);

  request.mutable_read_mask()->add_paths("nonsense");
  EXPECT_EQ(wire::Violations(List(request).status())[0].field, "read_mask");
  v1::ListJobsRequest by_state;
  by_state.add_states(v1::JOB_STATE_FAILED);
  EXPECT_EQ(List(by_state)->jobs_size(), 0);
  by_state.add_states(v1::JOB_STATE_UNSPECIFIED);
  EXPECT_EQ(wire::Violations(List(by_state).status())[0].field, "states");
}

TEST_F(JobServiceTest, CancelOfAQueuedJobEndsItAndMayBeRepeated) {
  const v1::Job job = MustSubmit();
  EXPECT_EQ(Cancel(job.name(), "stale").status().code(),
            absl::StatusCode::kAborted);
  ASSERT_TRUE(Cancel(job.name(), Get(job.name())->etag()).ok());
  WaitForState(job.name(), v1::JOB_STATE_CANCELLED);
  const auto again = Cancel(job.name());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(JobServiceTest, DeleteForgetsAFinishedJobAlone) {
  const v1::Job job = MustSubmit();
  EXPECT_EQ(Delete(job.name()).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(Cancel(job.name()).ok());
  WaitForState(job.name(), v1::JOB_STATE_CANCELLED);
  EXPECT_TRUE(Delete(job.name()).ok());
  EXPECT_EQ(Get(job.name()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Delete(job.name()).code(), absl::StatusCode::kNotFound);
}

TEST_F(JobServiceTest, NamesOfJobsAreChecked) {
  for (const std::string name :
       {"", "jobs/", "jobs/../x", "workers/a", "jobs/ABC"}) {
    EXPECT_EQ(Get(name).status().code(), absl::StatusCode::kInvalidArgument)
        << name;
  }
  EXPECT_EQ(Get("jobs/00000000000000000000000001").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(JobServiceTest, MessagesAbove4MiBAreRefused) {
  v1::JobSpec spec = MakeSpec();
  spec.set_experiment_json(std::string(5 << 20, ' '));
  EXPECT_EQ(Submit(spec).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Submit(MakeSpec()).ok());
}

TEST_F(JobServiceTest, ServerInfoTellsVersionAndLimits) {
  v1::ServerInfo info;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  ASSERT_TRUE(info_->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.version(), "1.2.3");
  EXPECT_EQ(info.limits().max_spec_bytes(), 262144);
  EXPECT_FALSE(info.cluster_id().empty());
}

TEST_F(JobServiceTest, StoppingServerRefusesAndReturns) {
  // There is nothing that it would have to wait for.
  server_->Stop(absl::Hours(1));
  v1::GetJobRequest request;
  v1::Job job;
  grpc::ClientContext context;
  net::SetDeadline(context, absl::Seconds(1));
  EXPECT_FALSE(jobs_->GetJob(&context, request, &job).ok());
}

}  // namespace
}  // namespace epochd::api
