// SPDX-License-Identifier: Apache-2.0
//
// A coordinator of one job that lives in this process and breaks streams where
// it is told to. Set it up before the client calls.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/api/client.h"
#include "epochd/v1/job.grpc.pb.h"
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
  };

  grpc::Status WatchEvents(grpc::ServerContext*,
                           const v1::WatchEventsRequest* request,
                           grpc::ServerWriter<v1::Event>* writer) override {
    afters.push_back(request->after());
    const Round& round = Next();
    for (const v1::Event& event : round.events) writer->Write(event);
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
    if (request->name() != job.name()) {
      return {grpc::StatusCode::NOT_FOUND, "no job " + request->name()};
    }
    *response = job;
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

  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest*,
                         v1::Job* response) override {
    job.set_state(v1::JOB_STATE_STOPPING);
    *response = job;
    return grpc::Status::OK;
  }

  grpc::Status ListJobs(grpc::ServerContext*,
                        const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
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
  v1::SubmitJobRequest submitted;
  grpc::Status submit_status;
  // The first that many submits are answered with this instead.
  int num_full_submits = 0;
  absl::Status full_status;
  std::atomic<int> num_submits = 0;
  std::vector<v1::Event> listed;
  std::map<std::string, std::string> uploads;

 private:
  const Round& Next() {
    // The last round goes on for ever.
    const size_t round = std::min(num_rounds_++, rounds.size() - 1);
    return rounds[round];
  }
  size_t num_rounds_ = 0;
};

class FakeServer {
 public:
  FakeServer() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(&jobs);
    server_ = builder.BuildAndStart();
    address = "127.0.0.1:" + std::to_string(port);
  }
  ~FakeServer() { server_->Shutdown(); }

  Client MakeClient() const {
    net::ChannelOptions options;
    options.server = address;
    return Client(*net::MakeChannel(options));
  }

  FakeJobs jobs;
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
