// SPDX-License-Identifier: Apache-2.0
//
// ServerService: the coordinator about itself. Any thread.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "epochd/v1/server.grpc.pb.h"
#include "server/api/backend.h"

namespace epochd::api {

struct ServerFacts {
  std::string version = {};
  std::string commit = {};
  absl::Time start_time = absl::UnixEpoch();
  // Of metrics and page; empty: off.
  std::string http_address = {};
};

class ServerService final : public v1::ServerService::CallbackService {
 public:
  // `backend` outlives it.
  ServerService(Backend& backend, ServerFacts facts)
      : backend_(backend), facts_(std::move(facts)) {}

  grpc::ServerUnaryReactor* GetServerInfo(
      grpc::CallbackServerContext* context,
      const v1::GetServerInfoRequest* request,
      v1::ServerInfo* response) override;
  grpc::ServerUnaryReactor* GetCatalogue(grpc::CallbackServerContext* context,
                                         const v1::GetCatalogueRequest* request,
                                         v1::Catalogue* response) override;

 private:
  Backend& backend_;
  const ServerFacts facts_;
};

}  // namespace epochd::api
