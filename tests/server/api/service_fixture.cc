// SPDX-License-Identifier: Apache-2.0
#include "tests/server/api/service_fixture.h"

#include <openssl/sha.h>

#include <array>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "net/server_credentials.h"
#include "proto/wire/status.h"

namespace epochd::api {

void ServiceTest::SetUp() {
  auto logs = events::LogStore::Open({.root = folder_ / "logs"});
  ASSERT_TRUE(logs.ok()) << logs.status();
  logs_ = *std::move(logs);
  auto files = events::FileStore::Open({.root = folder_ / "files"});
  ASSERT_TRUE(files.ok()) << files.status();
  files_ = *std::move(files);
  // Agents here beat when a test lets them, on however slow a machine.
  control_options_.unreachable_after = absl::Hours(1);
  control_options_.lost_after = absl::Hours(2);
  controller_ = std::make_unique<control::Controller>(control_options_, clock_,
                                                      *used_store_);
  ASSERT_TRUE(controller_->Start().ok());
  auto credentials =
      net::MakeServerCredentials({.token = net::TokenHash(token_)});
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  Server::Options options = server_options_;
  options.credentials = *credentials;
  options.facts.version = "1.2.3";
  auto server = Server::Start(std::move(options), *controller_, *logs_, *files_,
                              catalogues_);
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  jobs_ = v1::JobService::NewStub(Connect());
  workers_ = v1::WorkerService::NewStub(Connect());
  info_ = v1::ServerService::NewStub(Connect());
}

void ServiceTest::TearDown() {
  if (server_ != nullptr) server_->Stop(absl::Seconds(5));
  if (controller_ != nullptr) controller_->Stop();
}

std::shared_ptr<grpc::Channel> ServiceTest::Connect(bool with_token) const {
  net::ChannelOptions options;
  options.server = server_->address().ToString();
  if (with_token) options.token = token_;
  auto channel = net::MakeChannel(options);
  EXPECT_TRUE(channel.ok()) << channel.status();
  return *channel;
}

absl::StatusOr<v1::Job> ServiceTest::Submit(const v1::JobSpec& spec,
                                            const std::string& request_id) {
  v1::SubmitJobRequest request;
  *request.mutable_spec() = spec;
  request.set_request_id(request_id);
  v1::Job job;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  const auto status = wire::FromGrpc(jobs_->SubmitJob(&context, request, &job));
  if (!status.ok()) return status;
  return job;
}

v1::Job ServiceTest::MustSubmit(const v1::JobSpec& spec) {
  auto job = Submit(spec);
  EXPECT_TRUE(job.ok()) << job.status();
  return job.ok() ? *job : v1::Job();
}

absl::StatusOr<v1::Job> ServiceTest::Get(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  v1::Job job;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  const auto status = wire::FromGrpc(jobs_->GetJob(&context, request, &job));
  if (!status.ok()) return status;
  return job;
}

v1::Job ServiceTest::WaitForState(const std::string& name, v1::JobState state) {
  const absl::Time deadline = absl::Now() + kPatience;
  v1::Job last;
  while (absl::Now() < deadline) {
    auto job = Get(name);
    EXPECT_TRUE(job.ok()) << job.status();
    if (!job.ok()) return last;
    last = *std::move(job);
    if (last.state() == state) return last;
  }
  ADD_FAILURE() << name << " is " << v1::JobState_Name(last.state());
  return last;
}

absl::StatusOr<v1::Job> ServiceTest::Cancel(const std::string& name,
                                            const std::string& etag) {
  v1::CancelJobRequest request;
  request.set_name(name);
  request.set_etag(etag);
  v1::Job job;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  const auto status = wire::FromGrpc(jobs_->CancelJob(&context, request, &job));
  if (!status.ok()) return status;
  return job;
}

absl::StatusOr<std::string> ServiceTest::Upload(
    const std::string& sha256, const std::vector<std::string>& parts) {
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  v1::UploadFileResponse response;
  auto writer = jobs_->UploadFile(&context, &response);
  v1::UploadFileRequest request;
  request.set_sha256(sha256);
  bool open = writer->Write(request);
  for (const std::string& part : parts) {
    request.set_data(part);
    open = open && writer->Write(request);
  }
  writer->WritesDone();
  const auto status = wire::FromGrpc(writer->Finish());
  if (!status.ok()) return status;
  return response.sha256();
}

v1::Job ServiceTest::RunToSuccess(FakeAgent& agent) {
  const v1::Job job = MustSubmit();
  const std::string attempt = agent.WaitForAttempt(job.name());
  agent.Run(attempt);
  agent.Report(attempt, R"({"type": "training_began", "time": 1, "rank": 0,)"
                        R"( "total_epochs": 1, "train_batches": 2})");
  agent.Report(attempt,
               R"({"type": "epoch_finished", "time": 2, "rank": 0, "epoch": 1,)"
               R"( "step": 2, "metrics": {"train/loss": 0.5}})");
  agent.Report(attempt, R"({"type": "training_ended", "time": 3, "rank": 0,)"
                        R"( "outcome": "completed", "epochs": 1})");
  agent.End(attempt, v1::ATTEMPT_REASON_COMPLETED);
  return WaitForState(job.name(), v1::JOB_STATE_SUCCEEDED);
}

std::string Sha256Hex(const std::string& text) {
  std::array<char, 32> hash;
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           reinterpret_cast<unsigned char*>(hash.data()));
  return absl::BytesToHexString({hash.data(), hash.size()});
}

}  // namespace epochd::api
