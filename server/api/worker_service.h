// SPDX-License-Identifier: Apache-2.0
//
// WorkerService on the controller. Any thread.
#pragma once

#include "epochd/v1/worker.grpc.pb.h"
#include "server/api/backend.h"

namespace epochd::api {

class WorkerService final : public v1::WorkerService::CallbackService {
 public:
  // `backend` outlives it.
  explicit WorkerService(Backend& backend) : backend_(backend) {}

  grpc::ServerUnaryReactor* ListWorkers(
      grpc::CallbackServerContext* context,
      const v1::ListWorkersRequest* request,
      v1::ListWorkersResponse* response) override;
  grpc::ServerUnaryReactor* GetWorker(grpc::CallbackServerContext* context,
                                      const v1::GetWorkerRequest* request,
                                      v1::Worker* response) override;
  grpc::ServerUnaryReactor* DrainWorker(grpc::CallbackServerContext* context,
                                        const v1::DrainWorkerRequest* request,
                                        v1::Worker* response) override;

 private:
  Backend& backend_;
};

}  // namespace epochd::api
