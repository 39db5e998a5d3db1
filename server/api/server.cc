// SPDX-License-Identifier: Apache-2.0
#include "server/api/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "net/server_limits.h"
#include "server/api/agent_service.h"
#include "server/api/backend.h"
#include "server/api/job_service.h"
#include "server/api/worker_service.h"

namespace epochd::api {
namespace {

class GrpcServer final : public Server {
 public:
  GrpcServer(Options options, control::Controller& controller,
             events::LogStore& logs, events::FileStore& files,
             Catalogues& catalogues)
      : streams_(std::move(options.streams_changed), options.max_streams),
        pool_(options.num_threads, options.max_waiting_calls),
        backend_{controller, logs, files, catalogues, pool_, streams_},
        jobs_(backend_),
        workers_(backend_),
        server_service_(backend_, std::move(options.facts)),
        agents_(backend_),
        address_(std::move(options.listen)) {}

  ~GrpcServer() override { Stop(absl::ZeroDuration()); }

  absl::Status Listen(std::shared_ptr<grpc::ServerCredentials> credentials) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    net::ApplyServerLimits(builder);
    int port = 0;
    builder.AddListeningPort(address_.ToString(), std::move(credentials),
                             &port);
    for (grpc::Service* service :
         {static_cast<grpc::Service*>(&jobs_),
          static_cast<grpc::Service*>(&workers_),
          static_cast<grpc::Service*>(&server_service_),
          static_cast<grpc::Service*>(&agents_)}) {
      builder.RegisterService(service);
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) {
      return absl::UnavailableError(
          absl::StrCat("listen: cannot listen on '", address_.ToString(),
                       "', it is taken or not of this machine"));
    }
    address_.port = port;
    for (const char* service : {v1::JobService::service_full_name(),
                                v1::WorkerService::service_full_name(),
                                v1::ServerService::service_full_name(),
                                v1::AgentService::service_full_name()}) {
      server_->GetHealthCheckService()->SetServingStatus(service, true);
    }
    return absl::OkStatus();
  }

  const net::Address& address() const override { return address_; }

  void Stop(absl::Duration grace) override {
    if (server_ == nullptr) return;
    server_->GetHealthCheckService()->Shutdown();
    streams_.EndAll(absl::UnavailableError("the coordinator is stopping"));
    server_->Shutdown(std::chrono::system_clock::now() +
                      absl::ToChronoNanoseconds(grace));
    server_.reset();
  }

 private:
  OpenStreams streams_;
  WorkPool pool_;
  Backend backend_;
  JobService jobs_;
  WorkerService workers_;
  ServerService server_service_;
  AgentService agents_;
  net::Address address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    Options options, control::Controller& controller, events::LogStore& logs,
    events::FileStore& files, Catalogues& catalogues) {
  auto credentials = options.credentials;
  auto server = std::make_unique<GrpcServer>(std::move(options), controller,
                                             logs, files, catalogues);
  const absl::Status status = server->Listen(std::move(credentials));
  if (!status.ok()) return status;
  return server;
}

}  // namespace epochd::api
