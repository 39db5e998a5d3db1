// SPDX-License-Identifier: Apache-2.0
//
// A coordinator of one job and one worker that lives in this process, breaks
// streams where it is told to, and keeps what it was asked. Set it up before
// the client calls.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/api/client.h"
#include "epochd/v1/job.grpc.pb.h"
#include "epochd/v1/server.grpc.pb.h"
#include "epochd/v1/worker.grpc.pb.h"
#include "net/channel.h"
#include "proto/wire/status.h"

namespace epochd::client {

class FakeJobs : public v1::JobService::Service {
 public:
  // One connection: what it sends before it breaks.
  struct Round {
    std::vector<v1::Event> events;
    std::vector<v1::LogChunk> chunks;
    grpc::Status status;
    // Waits before the last event is sent, until so many answers of GetJob were
    // given or the client has gone.
    size_t until_gets = 0;
  };

  grpc::Status WatchEvents(grpc::ServerContext* context,
                           const v1::WatchEventsRequest* request,
                           grpc::ServerWriter<v1::Event>* writer) override {
    afters.push_back(request->after());
    const Round& round = Next();
    for (const v1::Event& event : round.events) {
      if (&event == &round.events.back()) AwaitGets(round.until_gets, *context);
      writer->Write(event);
    }
    return round.status;
  }

  grpc::Status ReadLogs(grpc::ServerContext*,
                        const v1::ReadLogsRequest* request,
                        grpc::ServerWriter<v1::LogChunk>* writer) override {
    log_requests.push_back(*request);
    const Round& round = Next();
    for (const v1::LogChunk& chunk : round.chunks) writer->Write(chunk);
    return round.status;
  }

  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::Job* response) override {
    if (!failure.ok()) return failure;
    if (request->name() != job.name()) {
      return {grpc::StatusCode::NOT_FOUND, "no job " + request->name()};
    }
    *response = job;
    const std::lock_guard lock(gets_mutex_);
    if (num_gets_ < answers.size()) *response = answers[num_gets_];
    ++num_gets_;
    got_.notify_all();
    return grpc::Status::OK;
  }

  grpc::Status SubmitJob(grpc::ServerContext*,
                         const v1::SubmitJobRequest* request,
                         v1::Job* response) override {
    ++num_submits;
    const grpc::Status status = num_submits > num_full_submits
                                    ? submit_status
                                    : wire::ToGrpc(full_status);
    if (status.ok()) {
      submitted = *request;
      *response = job;
    }
    return status;
  }

  grpc::Status ValidateJob(grpc::ServerContext*, const v1::ValidateJobRequest*,
                           v1::ValidateJobResponse* response) override {
    *response = validation;
    return failure;
  }

  grpc::Status CancelJob(grpc::ServerContext*,
                         const v1::CancelJobRequest* request,
                         v1::Job* response) override {
    if (!failure.ok()) return failure;
    request_ids.push_back(request->request_id());
    if (request->name() != job.name()) {
      return {grpc::StatusCode::NOT_FOUND, "no job " + request->name()};
    }
    job.set_state(v1::JOB_STATE_STOPPING);
    *response = job;
    return grpc::Status::OK;
  }

  grpc::Status DeleteJob(grpc::ServerContext*,
                         const v1::DeleteJobRequest* request,
                         v1::DeleteJobResponse*) override {
    if (!failure.ok()) return failure;
    request_ids.push_back(request->request_id());
    deleted.push_back(request->name());
    return grpc::Status::OK;
  }

  grpc::Status ListCheckpoints(grpc::ServerContext*,
                               const v1::ListCheckpointsRequest* request,
                               v1::ListCheckpointsResponse* response) override {
    for (const v1::Checkpoint& checkpoint : checkpoints) {
      if (checkpoint.removed() && !request->show_removed()) continue;
      *response->add_checkpoints() = checkpoint;
    }
    return failure;
  }

  grpc::Status ListJobs(grpc::ServerContext*,
                        const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    list_requests.push_back(*request);
    if (!failure.ok() || is_empty) return failure;
    const int page =
        request->page_token().empty() ? 0 : std::stoi(request->page_token());
    *response->add_jobs() = job;
    response->mutable_jobs(0)->set_name("jobs/" + std::to_string(page));
    if (page < 2) response->set_next_page_token(std::to_string(page + 1));
    return grpc::Status::OK;
  }

  grpc::Status ListEvents(grpc::ServerContext*,
                          const v1::ListEventsRequest* request,
                          v1::ListEventsResponse* response) override {
    if (!failure.ok()) return failure;
    for (const v1::Event& event : listed) {
      if (event.sequence() > request->after()) *response->add_events() = event;
    }
    return grpc::Status::OK;
  }

  grpc::Status UploadFile(grpc::ServerContext*,
                          grpc::ServerReader<v1::UploadFileRequest>* reader,
                          v1::UploadFileResponse*) override {
    v1::UploadFileRequest request;
    std::string hash;
    while (reader->Read(&request)) {
      if (request.has_sha256()) hash = request.sha256();
      if (request.has_data()) uploads[hash] += request.data();
    }
    return grpc::Status::OK;
  }

  std::vector<Round> rounds;
  std::vector<int64_t> afters;
  std::vector<v1::ReadLogsRequest> log_requests;
  v1::Job job;
  // What the first calls of GetJob get in its place.
  std::vector<v1::Job> answers;
  v1::SubmitJobRequest submitted;
  grpc::Status submit_status;
  // The first that many submits are answered with this instead.
  int num_full_submits = 0;
  absl::Status full_status;
  std::atomic<int> num_submits = 0;
  std::vector<v1::Event> listed;
  std::map<std::string, std::string> uploads;
  std::vector<v1::ListJobsRequest> list_requests;
  std::vector<std::string> request_ids;
  std::vector<std::string> deleted;
  std::vector<v1::Checkpoint> checkpoints;
  v1::ValidateJobResponse validation;
  // What calls that ask for one answer get in its place.
  grpc::Status failure;
  // There are no jobs to list.
  bool is_empty = false;

 private:
  const Round& Next() {
    // The last round goes on for ever.
    const size_t round = std::min(num_rounds_++, rounds.size() - 1);
    return rounds[round];
  }
  void AwaitGets(size_t number, const grpc::ServerContext& context) {
    // Nobody tells that the client has gone.
    const std::chrono::milliseconds look(10);
    std::unique_lock lock(gets_mutex_);
    while (num_gets_ < number && !context.IsCancelled()) {
      got_.wait_for(lock, look);
    }
  }

  size_t num_rounds_ = 0;
  std::mutex gets_mutex_;
  std::condition_variable got_;
  size_t num_gets_ = 0;
};

class FakeWorkers : public v1::WorkerService::Service {
 public:
  grpc::Status ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                           v1::ListWorkersResponse* response) override {
    if (failure.ok() && !is_empty) *response->add_workers() = worker;
    return failure;
  }
  grpc::Status GetWorker(grpc::ServerContext*,
                         const v1::GetWorkerRequest* request,
                         v1::Worker* response) override {
    if (!failure.ok()) return failure;
    if (request->name() != worker.name()) {
      return {grpc::StatusCode::NOT_FOUND, "no worker " + request->name()};
    }
    *response = worker;
    return grpc::Status::OK;
  }
  grpc::Status DrainWorker(grpc::ServerContext*,
                           const v1::DrainWorkerRequest* request,
                           v1::Worker* response) override {
    if (!failure.ok()) return failure;
    worker.set_state(request->undo() ? v1::WORKER_STATE_READY
                                     : v1::WORKER_STATE_DRAINING);
    *response = worker;
    return grpc::Status::OK;
  }

  v1::Worker worker;
  grpc::Status failure;
  bool is_empty = false;
};

class FakeInfo : public v1::ServerService::Service {
 public:
  grpc::Status GetServerInfo(grpc::ServerContext*,
                             const v1::GetServerInfoRequest*,
                             v1::ServerInfo* response) override {
    *response = info;
    return failure;
  }
  grpc::Status GetCatalogue(grpc::ServerContext*,
                            const v1::GetCatalogueRequest*,
                            v1::Catalogue* response) override {
    if (!failure.ok()) return failure;
    if (catalogue.empty()) {
      return {grpc::StatusCode::NOT_FOUND, "no catalogue is known yet"};
    }
    response->set_json(catalogue);
    return grpc::Status::OK;
  }

  v1::ServerInfo info;
  std::string catalogue;
  grpc::Status failure;
};

class FakeServer {
 public:
  FakeServer() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(&jobs);
    builder.RegisterService(&workers);
    builder.RegisterService(&server);
    server_ = builder.BuildAndStart();
    address = "127.0.0.1:" + std::to_string(port);
  }
  ~FakeServer() { server_->Shutdown(); }

  Client MakeClient() const {
    net::ChannelOptions options;
    options.server = address;
    return Client(*net::MakeChannel(options));
  }

  // Every call that asks for one answer fails.
  void FailWith(const grpc::Status& status) {
    jobs.failure = status;
    jobs.submit_status = status;
    workers.failure = status;
    server.failure = status;
  }

  FakeJobs jobs;
  FakeWorkers workers;
  FakeInfo server;
  std::string address;

 private:
  std::unique_ptr<grpc::Server> server_;
};

inline v1::Event Numbered(int64_t sequence) {
  v1::Event event;
  event.set_sequence(sequence);
  event.mutable_epoch_started()->set_epoch(sequence);
  return event;
}

inline v1::Event Ended(int64_t sequence, v1::JobState state) {
  v1::Event event;
  event.set_sequence(sequence);
  event.mutable_job_state()->set_state(state);
  return event;
}

inline v1::LogChunk Chunk(int attempt, int64_t offset,
                          const std::string& data) {
  v1::LogChunk chunk;
  chunk.set_attempt(attempt);
  chunk.set_offset(offset);
  chunk.set_data(data);
  return chunk;
}

inline v1::LogChunk LastChunk(v1::JobState state) {
  v1::LogChunk chunk;
  chunk.set_end(true);
  chunk.set_final_state(state);
  return chunk;
}

// Retries without making a test wait.
inline StreamOptions Fast() {
  StreamOptions options;
  options.retry.initial_backoff = absl::Milliseconds(1);
  options.retry.max_backoff = absl::Milliseconds(2);
  return options;
}

}  // namespace epochd::client
