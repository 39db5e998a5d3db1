// SPDX-License-Identifier: Apache-2.0
//
// The generated stubs that a Client holds; for the files of this folder.
#pragma once

#include <memory>

#include "client/api/client.h"
#include "epochd/v1/job.grpc.pb.h"
#include "epochd/v1/server.grpc.pb.h"
#include "epochd/v1/worker.grpc.pb.h"

namespace epochd::client {

struct Client::Stubs {
  std::unique_ptr<v1::JobService::StubInterface> jobs;
  std::unique_ptr<v1::WorkerService::StubInterface> workers;
  std::unique_ptr<v1::ServerService::StubInterface> server;
};

}  // namespace epochd::client
