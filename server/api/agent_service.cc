// SPDX-License-Identifier: Apache-2.0
#include "server/api/agent_service.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/wire/time.h"
#include "server/api/convert_worker.h"
#include "server/api/fetch_file.h"
#include "server/api/field_rules.h"
#include "server/api/names.h"
#include "server/api/watch_desired.h"
#include "spdlog/spdlog.h"

namespace epochd::api {
namespace {

// Notes what a worker's trainers can build.
absl::Status TakeInCatalogue(Catalogues& catalogues,
                             const v1::RegisterRequest& request,
                             fleet::WorkerRecord& worker) {
  if (request.catalogue_sha256().empty() && request.catalogue_json().empty()) {
    return absl::OkStatus();
  }
  std::shared_ptr<const KnownCatalogue> known;
  if (request.catalogue_json().empty()) {
    known =
        catalogues.ReportKnown(worker.id.name(), request.catalogue_sha256());
    if (known == nullptr) {
      return wire::WithReason(
          absl::FailedPreconditionError(absl::StrCat(
              "catalogue_sha256: ", Quote(request.catalogue_sha256()),
              " is not known here, register with catalogue_json")),
          "CATALOGUE_UNKNOWN");
    }
  } else {
    auto added = catalogues.Report(worker.id.name(), request.catalogue_json());
    if (!added.ok()) return added.status();
    known = *std::move(added);
    if (!request.catalogue_sha256().empty() &&
        request.catalogue_sha256() != known->sha256) {
      return wire::BadRequest(
          {{"catalogue_sha256",
            absl::StrCat(Quote(request.catalogue_sha256()),
                         " is not the hash of catalogue_json, '", known->sha256,
                         "' is accepted")}});
    }
  }
  worker.catalogue_sha256 = known->sha256;
  worker.components = known->components;
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* AgentService::Register(
    grpc::CallbackServerContext* context, const v1::RegisterRequest* request,
    v1::RegisterResponse* response) {
  auto* reactor = context->DefaultReactor();
  backend_.pool.Post([this, reactor, request, response] {
    RegisterOnPool(reactor, *request, response);
  });
  return reactor;
}

void AgentService::RegisterOnPool(grpc::ServerUnaryReactor* reactor,
                                  const v1::RegisterRequest& request,
                                  v1::RegisterResponse* response) {
  auto registration = FromProto(request);
  absl::Status status = registration.status();
  if (status.ok()) {
    status =
        TakeInCatalogue(backend_.catalogues, request, registration->worker);
  }
  if (!status.ok()) {
    reactor->Finish(wire::ToGrpc(status));
    return;
  }
  backend_.controller.Register(
      *std::move(registration),
      [reactor, response](absl::StatusOr<control::RegisterResult> result) {
        if (result.ok()) {
          *response->mutable_heartbeat_interval() =
              wire::ToProto(result->heartbeat_interval);
          *response->mutable_desired() = ToProto(*result->desired);
          response->set_cluster_id(result->cluster_id);
        }
        reactor->Finish(wire::ToGrpc(result.status()));
      });
}

grpc::ServerUnaryReactor* AgentService::Heartbeat(
    grpc::CallbackServerContext* context, const v1::HeartbeatRequest* request,
    v1::HeartbeatResponse* response) {
  auto* reactor = context->DefaultReactor();
  auto heartbeat = FromProto(*request);
  if (!heartbeat.ok()) {
    reactor->Finish(wire::ToGrpc(heartbeat.status()));
    return reactor;
  }
  backend_.controller.SendHeartbeat(
      *std::move(heartbeat),
      [reactor,
       response](absl::StatusOr<std::shared_ptr<const control::DesiredState>>
                     desired) {
        if (desired.ok()) *response->mutable_desired() = ToProto(**desired);
        reactor->Finish(wire::ToGrpc(desired.status()));
      });
  return reactor;
}

grpc::ServerWriteReactor<v1::DesiredState>* AgentService::WatchDesired(
    grpc::CallbackServerContext*, const v1::WatchDesiredRequest* request) {
  return Serve<class WatchDesired>(backend_, *request);
}

grpc::ServerUnaryReactor* AgentService::ReportEvents(
    grpc::CallbackServerContext* context,
    const v1::ReportEventsRequest* request,
    v1::ReportEventsResponse* response) {
  auto* reactor = context->DefaultReactor();
  auto lines = FromProto(*request);
  if (!lines.ok()) {
    reactor->Finish(wire::ToGrpc(lines.status()));
    return reactor;
  }
  backend_.controller.ReportEvents(
      *std::move(lines), [reactor, response](absl::StatusOr<int64_t> next) {
        if (next.ok()) response->set_next_offset(*next);
        reactor->Finish(wire::ToGrpc(next.status()));
      });
  return reactor;
}

grpc::ServerUnaryReactor* AgentService::ReportLogs(
    grpc::CallbackServerContext* context, const v1::ReportLogsRequest* request,
    v1::ReportLogsResponse* response) {
  return AnswerOnPool(context, backend_.pool, [this, request, response] {
    return TakeInLogs(*request, *response);
  });
}

absl::Status AgentService::TakeInLogs(const v1::ReportLogsRequest& request,
                                      v1::ReportLogsResponse& response) {
  const auto worker = ParseWorker(request.worker());
  if (!worker.ok()) return worker.status();
  const auto incarnation = ParseIncarnation(request.incarnation());
  if (!incarnation.ok()) return incarnation.status();
  const auto attempt = ParseAttemptName(request.attempt());
  if (!attempt.ok()) return attempt.status();
  const absl::Status admitted = backend_.controller.Admit(
      *worker, *incarnation, *attempt, request.rank());
  if (!admitted.ok()) return admitted;
  const auto appended = backend_.logs.Append({*attempt, request.rank()},
                                             request.offset(), request.data());
  const bool no_room = absl::IsResourceExhausted(appended.status());
  if (no_room != no_room_.exchange(no_room)) {
    if (no_room) {
      spdlog::error("logs wait at the workers: {}",
                    std::string(appended.status().message()));
    } else {
      spdlog::info("logs are taken again");
    }
  }
  if (!appended.ok()) return appended.status();
  response.set_next_offset(appended->next_offset);
  response.set_full(appended->full);
  return absl::OkStatus();
}

grpc::ServerWriteReactor<v1::FetchFileResponse>* AgentService::FetchFile(
    grpc::CallbackServerContext*, const v1::FetchFileRequest* request) {
  return Serve<class FetchFile>(backend_, *request);
}

}  // namespace epochd::api
