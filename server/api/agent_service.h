// SPDX-License-Identifier: Apache-2.0
//
// AgentService on the controller. Any thread.
#pragma once

#include <atomic>

#include "epochd/v1/agent.grpc.pb.h"
#include "server/api/backend.h"

namespace epochd::api {

class AgentService final : public v1::AgentService::CallbackService {
 public:
  // `backend` outlives it.
  explicit AgentService(Backend& backend) : backend_(backend) {}

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1::RegisterRequest* request,
                                     v1::RegisterResponse* response) override;
  grpc::ServerUnaryReactor* Heartbeat(grpc::CallbackServerContext* context,
                                      const v1::HeartbeatRequest* request,
                                      v1::HeartbeatResponse* response) override;
  grpc::ServerWriteReactor<v1::DesiredState>* WatchDesired(
      grpc::CallbackServerContext* context,
      const v1::WatchDesiredRequest* request) override;
  grpc::ServerUnaryReactor* ReportEvents(
      grpc::CallbackServerContext* context,
      const v1::ReportEventsRequest* request,
      v1::ReportEventsResponse* response) override;
  grpc::ServerUnaryReactor* ReportLogs(
      grpc::CallbackServerContext* context,
      const v1::ReportLogsRequest* request,
      v1::ReportLogsResponse* response) override;
  grpc::ServerWriteReactor<v1::FetchFileResponse>* FetchFile(
      grpc::CallbackServerContext* context,
      const v1::FetchFileRequest* request) override;

 private:
  void RegisterOnPool(grpc::ServerUnaryReactor* reactor,
                      const v1::RegisterRequest& request,
                      v1::RegisterResponse* response);
  absl::Status TakeInLogs(const v1::ReportLogsRequest& request,
                          v1::ReportLogsResponse& response);

  Backend& backend_;
  // Whether the last log bytes found no room.
  std::atomic<bool> no_room_ = false;
};

}  // namespace epochd::api
