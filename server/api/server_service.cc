// SPDX-License-Identifier: Apache-2.0
#include "server/api/server_service.h"

#include "proto/wire/time.h"
#include "server/api/spec_check.h"

namespace epochd::api {

grpc::ServerUnaryReactor* ServerService::GetServerInfo(
    grpc::CallbackServerContext* context, const v1::GetServerInfoRequest*,
    v1::ServerInfo* response) {
  response->set_version(facts_.version);
  response->set_commit(facts_.commit);
  *response->mutable_start_time() = wire::ToProto(facts_.start_time);
  response->set_cluster_id(backend_.controller.cluster_id());
  response->set_http_address(facts_.http_address);
  auto* limits = response->mutable_limits();
  limits->set_max_spec_bytes(kMaxSpecBytes);
  limits->set_max_file_bytes(backend_.files.options().max_file_bytes);
  limits->set_max_files(kMaxFiles);
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* ServerService::GetCatalogue(
    grpc::CallbackServerContext* context,
    const v1::GetCatalogueRequest* request, v1::Catalogue* response) {
  auto* reactor = context->DefaultReactor();
  const auto known = backend_.catalogues.Current();
  if (known == nullptr) {
    reactor->Finish(wire::ToGrpc(absl::NotFoundError(
        "catalogue: none is known yet, a worker that registers brings one")));
    return reactor;
  }
  response->set_sha256(known->sha256);
  if (request->known_sha256() != known->sha256) {
    response->set_json(known->json);
  }
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace epochd::api
