// SPDX-License-Identifier: Apache-2.0
#include "server/api/agent_service.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "proto/wire/status.h"
#include "tests/server/api/service_fixture.h"

namespace epochd::api {
namespace {

class AgentServiceTest : public ServiceTest {
 protected:
  absl::Status Register(FakeAgent& agent, const v1::RegisterRequest& request) {
    v1::RegisterResponse response;
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    return wire::FromGrpc(agent.stub().Register(&context, request, &response));
  }
  v1::ListWorkersResponse ListWorkers(int page_size = 0,
                                      const std::string& token = "") {
    v1::ListWorkersRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    v1::ListWorkersResponse response;
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    const grpc::Status status =
        workers_->ListWorkers(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
};

TEST_F(AgentServiceTest, RegisteredWorkerIsShownWithItsDevices) {
  FakeAgent agent(Connect(), "worker-a");
  ASSERT_TRUE(agent.Register(2).ok());
  const auto listed = ListWorkers();
  ASSERT_EQ(listed.workers_size(), 1);
  const v1::Worker& worker = listed.workers(0);
  EXPECT_EQ(worker.name(), "workers/worker-a");
  EXPECT_EQ(worker.state(), v1::WORKER_STATE_READY);
  ASSERT_EQ(worker.devices_size(), 2);
  EXPECT_TRUE(worker.devices(0).held_by().empty());
  const v1::Job job = MustSubmit();
  const std::string attempt = agent.WaitForAttempt(job.name());
  EXPECT_EQ(ListWorkers().workers(0).devices(0).held_by(), attempt);
}

TEST_F(AgentServiceTest, DesiredAttemptCarriesWhatAnAgentNeeds) {
  FakeAgent agent(Connect(), "worker-a");
  ASSERT_TRUE(agent.Register(2).ok());
  const v1::Job job = MustSubmit(
      MakeSpec(R"({"resources": {"replicas": {"min": 2, "max": 2}}})"));
  agent.WaitForAttempt(job.name());
  ASSERT_EQ(agent.desired().attempts_size(), 1);
  const v1::DesiredAttempt& desired = agent.desired().attempts(0);
  EXPECT_EQ(desired.attempt(), job.name() + "/attempts/1");
  EXPECT_EQ(desired.world_size(), 2);
  ASSERT_EQ(desired.ranks_size(), 2);
  EXPECT_EQ(desired.ranks(1).rank(), 1);
  EXPECT_EQ(desired.ranks(1).worker(), "workers/worker-a");
  EXPECT_EQ(desired.rank_workers_size(), 2);
  EXPECT_EQ(desired.spec().experiment_json(), MakeSpec().experiment_json());
  EXPECT_GT(desired.self_fence_after().seconds(), 0);
}

TEST_F(AgentServiceTest, WatchDesiredSendsNowAndAtEachChange) {
  FakeAgent agent(Connect(), "worker-a");
  ASSERT_TRUE(agent.Register(1).ok());
  v1::WatchDesiredRequest request;
  request.set_worker("worker-a");
  request.set_incarnation("i1");
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  const auto reader = agent.stub().WatchDesired(&context, request);
  v1::DesiredState state;
  ASSERT_TRUE(reader->Read(&state));
  EXPECT_EQ(state.attempts_size(), 0);
  int64_t version = state.version();
  const v1::Job job = MustSubmit();
  while (state.attempts_size() == 0) {
    ASSERT_TRUE(reader->Read(&state));
    EXPECT_GT(state.version(), version);
    version = state.version();
  }
  // A newer agent of the name: this one must stop.
  FakeAgent newer(Connect(), "worker-a", "i2");
  ASSERT_TRUE(newer.Register(1).ok());
  while (reader->Read(&state)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(agent.Heartbeat().code(), absl::StatusCode::kAborted);
}

TEST_F(AgentServiceTest, WhoIsNotRegisteredIsToldTo) {
  FakeAgent agent(Connect(), "stranger");
  EXPECT_EQ(agent.Heartbeat().code(), absl::StatusCode::kNotFound);
}

TEST_F(AgentServiceTest, RegistrationIsChecked) {
  FakeAgent agent(Connect(), "worker-a");
  v1::RegisterRequest request = agent.MakeRegisterRequest(1);
  request.set_worker("Worker A");
  EXPECT_EQ(wire::Violations(Register(agent, request))[0].field, "worker");
  request = agent.MakeRegisterRequest(1);
  request.clear_incarnation();
  EXPECT_EQ(wire::Violations(Register(agent, request))[0].field, "incarnation");
  request = agent.MakeRegisterRequest(1);
  request.clear_work_dir_id();
  EXPECT_EQ(wire::Violations(Register(agent, request))[0].field, "work_dir_id");
  request = agent.MakeRegisterRequest(2);
  request.mutable_devices(1)->set_kind(v1::DEVICE_KIND_UNSPECIFIED);
  EXPECT_EQ(wire::Violations(Register(agent, request))[0].field, "devices[1]");
  request = agent.MakeRegisterRequest(1);
  request.add_observed()->set_attempt("nonsense");
  EXPECT_EQ(wire::Violations(Register(agent, request))[0].field, "attempt");
  EXPECT_EQ(ListWorkers().workers_size(), 0);
}

TEST_F(AgentServiceTest, CatalogueOfAWorkerJudgesJobs) {
  FakeAgent agent(Connect(), "worker-a");
  v1::RegisterRequest request = agent.MakeRegisterRequest(1);
  request.set_catalogue_sha256(std::string(64, 'a'));
  const absl::Status unknown = Register(agent, request);
  EXPECT_EQ(unknown.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(wire::Reason(unknown), "CATALOGUE_UNKNOWN");

  const v1::JobSpec misspelt =
      MakeSpec(R"({"experiment": {"optimizer": {"lrr": 0.1}}})");
  EXPECT_TRUE(Submit(misspelt).ok()) << "nothing is known yet";
  ASSERT_TRUE(agent.Register(1, FixtureCatalogue()).ok());
  const auto refused = Submit(misspelt);
  ASSERT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(wire::Violations(refused.status())[0].field,
            "experiment.optimizer.lrr");

  v1::GetCatalogueRequest get;
  v1::Catalogue catalogue;
  {
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    ASSERT_TRUE(info_->GetCatalogue(&context, get, &catalogue).ok());
  }
  EXPECT_EQ(catalogue.json(), FixtureCatalogue());
  get.set_known_sha256(catalogue.sha256());
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  ASSERT_TRUE(info_->GetCatalogue(&context, get, &catalogue).ok());
  EXPECT_TRUE(catalogue.json().empty());
}

TEST_F(AgentServiceTest, AWorkerThatIsNotReadyIsShownWithItsReason) {
  FakeAgent agent(Connect(), "worker-a");
  v1::RegisterRequest request = agent.MakeRegisterRequest(1);
  // Half a character at the limit is left out.
  request.set_not_ready(std::string(1023, 'x') + "\u00e9");
  {
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    v1::RegisterResponse response;
    ASSERT_TRUE(agent.stub().Register(&context, request, &response).ok());
  }
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  v1::GetWorkerRequest get;
  get.set_name("workers/worker-a");
  v1::Worker worker;
  ASSERT_TRUE(workers_->GetWorker(&context, get, &worker).ok());
  EXPECT_EQ(worker.state(), v1::WORKER_STATE_NOT_READY);
  EXPECT_EQ(worker.message(), std::string(1023, 'x'));
}

TEST_F(AgentServiceTest, DrainedWorkerGetsNoWorkUntilUndone) {
  FakeAgent agent(Connect(), "worker-a");
  ASSERT_TRUE(agent.Register(1).ok());
  v1::DrainWorkerRequest drain;
  drain.set_name("workers/worker-a");
  v1::Worker worker;
  {
    grpc::ClientContext context;
    net::SetDeadline(context, kPatience);
    ASSERT_TRUE(workers_->DrainWorker(&context, drain, &worker).ok());
  }
  EXPECT_EQ(worker.state(), v1::WORKER_STATE_DRAINING);
  const v1::Job job = MustSubmit();
  ASSERT_TRUE(agent.Heartbeat().ok());
  EXPECT_EQ(agent.desired().attempts_size(), 0);
  drain.set_undo(true);
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  ASSERT_TRUE(workers_->DrainWorker(&context, drain, &worker).ok());
  EXPECT_NE(agent.WaitForAttempt(job.name()), "");
}

TEST_F(AgentServiceTest, WorkersArePagedByName) {
  std::vector<std::string> expected;
  for (const std::string name : {"worker-a", "worker-b", "worker-c"}) {
    FakeAgent agent(Connect(), name);
    ASSERT_TRUE(agent.Register(1).ok());
    expected.push_back("workers/" + name);
  }
  std::vector<std::string> listed;
  std::string token;
  do {
    const auto page = ListWorkers(2, token);
    for (const v1::Worker& worker : page.workers()) {
      listed.push_back(worker.name());
    }
    token = page.next_page_token();
  } while (!token.empty());
  EXPECT_EQ(listed, expected);
}

TEST_F(AgentServiceTest, UploadedFileIsFetchedWhole) {
  FakeAgent agent(Connect(), "worker-a");
  std::string content;
  for (int i = 0; i < 200000; ++i) content += std::to_string(i);
  const std::string hash = Sha256Hex(content);
  ASSERT_TRUE(Upload(hash, {content}).ok());
  v1::FetchFileRequest request;
  request.set_sha256(hash);
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  const auto reader = agent.stub().FetchFile(&context, request);
  std::string fetched;
  v1::FetchFileResponse response;
  while (reader->Read(&response)) fetched += response.data();
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(fetched == content);
  request.set_sha256(std::string(64, '0'));
  grpc::ClientContext missing;
  net::SetDeadline(missing, kPatience);
  const auto none = agent.stub().FetchFile(&missing, request);
  EXPECT_FALSE(none->Read(&response));
  EXPECT_EQ(none->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(AgentServiceTest, CancelOfARunningJobIsToldAndEndsItOnceReported) {
  FakeAgent agent(Connect(), "worker-a");
  ASSERT_TRUE(agent.Register(1).ok());
  const v1::Job job = MustSubmit();
  const std::string attempt = agent.WaitForAttempt(job.name());
  agent.Run(attempt);
  const auto stopping = Cancel(job.name());
  ASSERT_TRUE(stopping.ok()) << stopping.status();
  EXPECT_EQ(stopping->state(), v1::JOB_STATE_STOPPING);
  agent.WaitForStop(attempt);
  agent.End(attempt, v1::ATTEMPT_REASON_CANCELLED);
  WaitForState(job.name(), v1::JOB_STATE_CANCELLED);
}

}  // namespace
}  // namespace epochd::api
