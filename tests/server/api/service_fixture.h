// SPDX-License-Identifier: Apache-2.0
//
// The real gRPC server on a free loopback port, over a real controller with the
// memory store, and its clients. Everything in a temporary folder.
#pragma once

#include <grpcpp/channel.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "epochd/v1/job.grpc.pb.h"
#include "epochd/v1/server.grpc.pb.h"
#include "epochd/v1/worker.grpc.pb.h"
#include "net/channel.h"
#include "net/token.h"
#include "server/api/server.h"
#include "server/control/clock.h"
#include "server/store/memory_job_store.h"
#include "tests/server/api/fake_agent.h"
#include "tests/server/api/good_spec.h"
#include "tests/temp_folder.h"

namespace epochd::api {

class ServiceTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // A channel with the token, or without.
  std::shared_ptr<grpc::Channel> Connect(bool with_token = true) const;

  absl::StatusOr<v1::Job> Submit(const v1::JobSpec& spec,
                                 const std::string& request_id = "");
  v1::Job MustSubmit(const v1::JobSpec& spec = MakeSpec());
  absl::StatusOr<v1::Job> Get(const std::string& name);
  // Polls until the job is in `state`.
  v1::Job WaitForState(const std::string& name, v1::JobState state);
  absl::StatusOr<v1::Job> Cancel(const std::string& name,
                                 const std::string& etag = "");
  // Uploads and returns the hash.
  absl::StatusOr<std::string> Upload(const std::string& sha256,
                                     const std::vector<std::string>& parts);

  // Queues a job, runs it on `agent` and ends it well.
  v1::Job RunToSuccess(FakeAgent& agent);

  // Set them before SetUp.
  control::Options control_options_;
  Server::Options server_options_;

  const net::Token token_ = net::Token::Random();
  const TempFolder folder_;
  const control::SystemClock clock_;
  store::MemoryJobStore store_;
  store::JobStore* used_store_ = &store_;
  Catalogues catalogues_;
  std::unique_ptr<events::LogStore> logs_;
  std::unique_ptr<events::FileStore> files_;
  std::unique_ptr<control::Controller> controller_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
  std::unique_ptr<v1::ServerService::Stub> info_;
};

std::string Sha256Hex(const std::string& text);

}  // namespace epochd::api
