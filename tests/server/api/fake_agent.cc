// SPDX-License-Identifier: Apache-2.0
#include "tests/server/api/fake_agent.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "net/channel.h"
#include "proto/wire/status.h"

namespace epochd::api {
FakeAgent::FakeAgent(const std::shared_ptr<grpc::Channel>& channel,
                     std::string worker, std::string incarnation)
    : worker_(std::move(worker)),
      incarnation_(std::move(incarnation)),
      stub_(v1::AgentService::NewStub(channel)) {}

v1::RegisterRequest FakeAgent::MakeRegisterRequest(int num_cpus) const {
  v1::RegisterRequest request;
  request.set_worker(worker_);
  request.set_incarnation(incarnation_);
  request.set_boot_id("boot");
  request.set_work_dir_id("folder");
  request.set_hostname("host");
  request.set_version("test");
  request.set_memory_bytes(int64_t{1} << 30);
  for (int i = 0; i < num_cpus; ++i) {
    auto* device = request.add_devices();
    device->set_id(absl::StrCat("cpu:", i));
    device->set_kind(v1::DEVICE_KIND_CPU);
    device->set_model("cpu");
  }
  return request;
}

absl::Status FakeAgent::Register(int num_cpus,
                                 const std::string& catalogue_json) {
  v1::RegisterRequest request = MakeRegisterRequest(num_cpus);
  request.set_catalogue_json(catalogue_json);
  request.set_sequence(++sequence_);
  v1::RegisterResponse response;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  const auto status =
      wire::FromGrpc(stub_->Register(&context, request, &response));
  if (status.ok()) desired_ = response.desired();
  return status;
}

absl::Status FakeAgent::Heartbeat() {
  v1::HeartbeatRequest request;
  request.set_worker(worker_);
  request.set_incarnation(incarnation_);
  for (const auto& [name, observed] : observed_) {
    *request.add_observed() = observed;
  }
  request.set_sequence(++sequence_);
  v1::HeartbeatResponse response;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  const auto status =
      wire::FromGrpc(stub_->Heartbeat(&context, request, &response));
  if (status.ok()) desired_ = response.desired();
  return status;
}

const v1::DesiredAttempt* FakeAgent::Find(const std::string& attempt) const {
  for (const v1::DesiredAttempt& desired : desired_.attempts()) {
    if (desired.attempt() == attempt) return &desired;
  }
  return nullptr;
}

std::string FakeAgent::WaitForAttempt(const std::string& job) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    EXPECT_TRUE(Heartbeat().ok());
    for (const v1::DesiredAttempt& desired : desired_.attempts()) {
      if (desired.run() &&
          absl::StartsWith(desired.attempt(), absl::StrCat(job, "/"))) {
        return desired.attempt();
      }
    }
  }
  ADD_FAILURE() << "nothing of " << job << " is desired";
  return "";
}

void FakeAgent::WaitForStop(const std::string& attempt) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    EXPECT_TRUE(Heartbeat().ok());
    const v1::DesiredAttempt* desired = Find(attempt);
    if (desired == nullptr || !desired->run()) return;
  }
  ADD_FAILURE() << attempt << " is still to run";
}

void FakeAgent::Run(const std::string& attempt) {
  const v1::DesiredAttempt* desired = Find(attempt);
  ASSERT_NE(desired, nullptr) << attempt;
  v1::ObservedAttempt observed;
  observed.set_attempt(attempt);
  observed.set_state(v1::ATTEMPT_STATE_RUNNING);
  observed.set_rendezvous("127.0.0.1:1");
  for (const v1::RankPlacement& placement : desired->ranks()) {
    auto* rank = observed.add_ranks();
    rank->set_rank(placement.rank());
    rank->set_running(true);
  }
  observed_[attempt] = observed;
  EXPECT_TRUE(Heartbeat().ok());
}

void FakeAgent::End(const std::string& attempt, v1::AttemptReason reason,
                    const std::string& message) {
  v1::ObservedAttempt& observed = observed_[attempt];
  observed.set_attempt(attempt);
  observed.set_state(v1::ATTEMPT_STATE_ENDED);
  observed.set_reason(reason);
  observed.set_message(message);
  observed.set_drained(true);
  for (v1::ObservedRank& rank : *observed.mutable_ranks()) {
    rank.set_running(false);
    rank.set_exit_code(reason == v1::ATTEMPT_REASON_COMPLETED ? 0 : 1);
  }
  EXPECT_TRUE(Heartbeat().ok());
  observed_.erase(attempt);
}

void FakeAgent::Report(const std::string& attempt, const std::string& line) {
  v1::ReportEventsRequest request;
  request.set_worker(worker_);
  request.set_incarnation(incarnation_);
  request.set_attempt(attempt);
  request.set_offset(offsets_[attempt]);
  request.set_lines(line + "\n");
  v1::ReportEventsResponse response;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  const auto status =
      wire::FromGrpc(stub_->ReportEvents(&context, request, &response));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(response.next_offset(),
            request.offset() + static_cast<int64_t>(request.lines().size()));
  offsets_[attempt] = response.next_offset();
}

absl::Status FakeAgent::ReportLog(const std::string& attempt, int64_t offset,
                                  const std::string& data) {
  v1::ReportLogsRequest request;
  request.set_worker(worker_);
  request.set_incarnation(incarnation_);
  request.set_attempt(attempt);
  request.set_offset(offset);
  request.set_data(data);
  v1::ReportLogsResponse response;
  grpc::ClientContext context;
  net::SetDeadline(context, kPatience);
  return wire::FromGrpc(stub_->ReportLogs(&context, request, &response));
}

}  // namespace epochd::api
