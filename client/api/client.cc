// SPDX-License-Identifier: Apache-2.0
#include "client/api/client.h"

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_format.h"
#include "client/api/reconnect.h"
#include "client/api/stubs.h"
#include "net/channel.h"
#include "proto/wire/status.h"

namespace epochd::client {
namespace {

// Below the message limit of every gRPC peer.
constexpr size_t kUploadChunk = 256 * 1024;
constexpr int kPageSize = 500;

// Tries of a call that the server had no room for and said when it may. Waits
// grow from what it said on, and differ from caller to caller, so that those
// who were refused together do not come back together.
constexpr int kMaxTries = 5;
constexpr absl::Duration kLongestWait = absl::Seconds(10);
constexpr double kMostSpread = 1.5;

template <typename Response, typename Call>
absl::StatusOr<Response> Unary(absl::Duration deadline, const Call& call) {
  absl::BitGen random;
  for (int tries = 1;; ++tries) {
    grpc::ClientContext context;
    net::SetDeadline(context, deadline);
    Response response;
    const absl::Status status = wire::FromGrpc(call(&context, &response));
    if (status.ok()) return response;
    // gRPC itself repeats what is UNAVAILABLE.
    const auto delay = wire::RetryDelay(status);
    if (!absl::IsResourceExhausted(status) || !delay || tries == kMaxTries) {
      return status;
    }
    WaitOut(std::min(*delay * (1 << (tries - 1)), kLongestWait) *
                absl::Uniform(random, 1.0, kMostSpread),
            {});
  }
}

}  // namespace

std::string NewRequestId() {
  absl::BitGen random;
  const auto high = absl::Uniform<uint64_t>(random);
  const auto low = absl::Uniform<uint64_t>(random);
  // Version 4, variant 1 of RFC 4122.
  return absl::StrFormat("%08x-%04x-4%03x-%04x-%012x", high >> 32,
                         (high >> 16) & 0xffff, high & 0xfff,
                         0x8000 | (low >> 50 & 0x3fff), low & 0xffffffffffff);
}

bool IsTerminal(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED;
}

Client::Client(const std::shared_ptr<grpc::Channel>& channel,
               absl::Duration deadline)
    : deadline_(deadline), stubs_(std::make_unique<Stubs>()) {
  stubs_->jobs = v1::JobService::NewStub(channel);
  stubs_->workers = v1::WorkerService::NewStub(channel);
  stubs_->server = v1::ServerService::NewStub(channel);
}

Client::~Client() = default;
Client::Client(Client&&) noexcept = default;

absl::StatusOr<v1::Job> Client::SubmitJob(const v1::JobSpec& spec,
                                          const std::string& request_id,
                                          bool validate_only) {
  v1::SubmitJobRequest request;
  *request.mutable_spec() = spec;
  request.set_request_id(request_id);
  request.set_validate_only(validate_only);
  return Unary<v1::Job>(deadline_, [&](auto* context, auto* response) {
    return stubs_->jobs->SubmitJob(context, request, response);
  });
}

absl::StatusOr<v1::ValidateJobResponse> Client::ValidateJob(
    const v1::JobSpec& spec) {
  v1::ValidateJobRequest request;
  *request.mutable_spec() = spec;
  return Unary<v1::ValidateJobResponse>(
      deadline_, [&](auto* context, auto* response) {
        return stubs_->jobs->ValidateJob(context, request, response);
      });
}

absl::StatusOr<v1::Job> Client::GetJob(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  return Unary<v1::Job>(deadline_, [&](auto* context, auto* response) {
    return stubs_->jobs->GetJob(context, request, response);
  });
}

absl::StatusOr<std::vector<v1::Job>> Client::ListJobs(const JobFilter& filter) {
  v1::ListJobsRequest request;
  request.set_page_size(filter.limit > 0 ? std::min(filter.limit, kPageSize)
                                         : kPageSize);
  for (const v1::JobState state : filter.states) request.add_states(state);
  request.set_project(filter.project);
  request.mutable_labels()->insert(filter.labels.begin(), filter.labels.end());
  std::vector<v1::Job> jobs;
  while (true) {
    auto page = Unary<v1::ListJobsResponse>(
        deadline_, [&](auto* context, auto* response) {
          return stubs_->jobs->ListJobs(context, request, response);
        });
    if (!page.ok()) return page.status();
    for (v1::Job& job : *page->mutable_jobs()) {
      jobs.push_back(std::move(job));
      if (static_cast<int>(jobs.size()) == filter.limit) return jobs;
    }
    if (page->next_page_token().empty()) return jobs;
    request.set_page_token(page->next_page_token());
  }
}

absl::StatusOr<v1::Job> Client::CancelJob(const std::string& name,
                                          const std::string& request_id) {
  v1::CancelJobRequest request;
  request.set_name(name);
  request.set_request_id(request_id);
  return Unary<v1::Job>(deadline_, [&](auto* context, auto* response) {
    return stubs_->jobs->CancelJob(context, request, response);
  });
}

absl::Status Client::DeleteJob(const std::string& name,
                               const std::string& request_id) {
  v1::DeleteJobRequest request;
  request.set_name(name);
  request.set_request_id(request_id);
  return Unary<v1::DeleteJobResponse>(deadline_,
                                      [&](auto* context, auto* response) {
                                        return stubs_->jobs->DeleteJob(
                                            context, request, response);
                                      })
      .status();
}

absl::StatusOr<std::vector<v1::Event>> Client::ListEvents(
    const std::string& name, int64_t after) {
  v1::ListEventsRequest request;
  request.set_name(name);
  request.set_after(after);
  std::vector<v1::Event> events;
  while (true) {
    auto page = Unary<v1::ListEventsResponse>(
        deadline_, [&](auto* context, auto* response) {
          return stubs_->jobs->ListEvents(context, request, response);
        });
    if (!page.ok()) return page.status();
    for (v1::Event& event : *page->mutable_events()) {
      events.push_back(std::move(event));
    }
    // A server that does not move on would be asked for ever.
    if (page->next_after() <= request.after()) return events;
    request.set_after(page->next_after());
  }
}

absl::StatusOr<std::vector<v1::Checkpoint>> Client::ListCheckpoints(
    const std::string& name, bool show_removed) {
  v1::ListCheckpointsRequest request;
  request.set_name(name);
  request.set_show_removed(show_removed);
  auto response = Unary<v1::ListCheckpointsResponse>(
      deadline_, [&](auto* context, auto* answer) {
        return stubs_->jobs->ListCheckpoints(context, request, answer);
      });
  if (!response.ok()) return response.status();
  return std::vector<v1::Checkpoint>(response->checkpoints().begin(),
                                     response->checkpoints().end());
}

absl::Status Client::UploadFile(const std::string& sha256,
                                const std::string& content) {
  grpc::ClientContext context;
  net::SetDeadline(context, 4 * deadline_);
  v1::UploadFileResponse response;
  const auto writer = stubs_->jobs->UploadFile(&context, &response);
  v1::UploadFileRequest request;
  request.set_sha256(sha256);
  bool is_open = writer->Write(request);
  for (size_t at = 0; is_open && at < content.size(); at += kUploadChunk) {
    request.set_data(content.substr(at, kUploadChunk));
    is_open = writer->Write(request);
  }
  // A stream that the server closed early says why when it is finished.
  if (is_open) writer->WritesDone();
  return wire::FromGrpc(writer->Finish());
}

absl::StatusOr<std::vector<v1::Worker>> Client::ListWorkers() {
  v1::ListWorkersRequest request;
  request.set_page_size(kPageSize);
  std::vector<v1::Worker> workers;
  while (true) {
    auto page = Unary<v1::ListWorkersResponse>(
        deadline_, [&](auto* context, auto* response) {
          return stubs_->workers->ListWorkers(context, request, response);
        });
    if (!page.ok()) return page.status();
    for (v1::Worker& worker : *page->mutable_workers()) {
      workers.push_back(std::move(worker));
    }
    if (page->next_page_token().empty()) return workers;
    request.set_page_token(page->next_page_token());
  }
}

absl::StatusOr<v1::Worker> Client::GetWorker(const std::string& name) {
  v1::GetWorkerRequest request;
  request.set_name(name);
  return Unary<v1::Worker>(deadline_, [&](auto* context, auto* response) {
    return stubs_->workers->GetWorker(context, request, response);
  });
}

absl::StatusOr<v1::Worker> Client::DrainWorker(const std::string& name,
                                               bool undo) {
  v1::DrainWorkerRequest request;
  request.set_name(name);
  request.set_undo(undo);
  return Unary<v1::Worker>(deadline_, [&](auto* context, auto* response) {
    return stubs_->workers->DrainWorker(context, request, response);
  });
}

absl::StatusOr<v1::ServerInfo> Client::GetServerInfo() {
  return Unary<v1::ServerInfo>(deadline_, [&](auto* context, auto* response) {
    return stubs_->server->GetServerInfo(context, v1::GetServerInfoRequest(),
                                         response);
  });
}

absl::StatusOr<v1::Catalogue> Client::GetCatalogue() {
  return Unary<v1::Catalogue>(deadline_, [&](auto* context, auto* response) {
    return stubs_->server->GetCatalogue(context, v1::GetCatalogueRequest(),
                                        response);
  });
}

}  // namespace epochd::client
