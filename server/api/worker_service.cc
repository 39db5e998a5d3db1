// SPDX-License-Identifier: Apache-2.0
#include "server/api/worker_service.h"

#include <string>

#include "server/api/convert_worker.h"
#include "server/api/names.h"
#include "server/api/page_token.h"

namespace epochd::api {

grpc::ServerUnaryReactor* WorkerService::ListWorkers(
    grpc::CallbackServerContext* context, const v1::ListWorkersRequest* request,
    v1::ListWorkersResponse* response) {
  return AnswerOnPool(context, backend_.pool, [this, request, response] {
    const auto size = PageSize(request->page_size(), 100, 1000);
    if (!size.ok()) return size.status();
    // Workers come by name; a page goes on after the last one's.
    std::string after;
    if (!request->page_token().empty()) {
      auto position = ReadPageToken(request->page_token(), "workers");
      if (!position.ok()) return position.status();
      after = *position;
    }
    for (const auto& view : backend_.controller.ListWorkers()) {
      if (view.record.id.name() <= after) continue;
      if (response->workers_size() == *size) {
        response->set_next_page_token(MakePageToken(after, "workers"));
        break;
      }
      *response->add_workers() = ToProto(view);
      after = view.record.id.name();
    }
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* WorkerService::GetWorker(
    grpc::CallbackServerContext* context, const v1::GetWorkerRequest* request,
    v1::Worker* response) {
  return AnswerOnPool(context, backend_.pool, [this, request, response] {
    const auto id = ParseWorkerName(request->name());
    if (!id.ok()) return id.status();
    const auto view = backend_.controller.GetWorker(*id);
    if (view.ok()) *response = ToProto(*view);
    return view.status();
  });
}

grpc::ServerUnaryReactor* WorkerService::DrainWorker(
    grpc::CallbackServerContext* context, const v1::DrainWorkerRequest* request,
    v1::Worker* response) {
  auto* reactor = context->DefaultReactor();
  const auto id = ParseWorkerName(request->name());
  if (!id.ok()) {
    reactor->Finish(wire::ToGrpc(id.status()));
    return reactor;
  }
  backend_.controller.DrainWorker(*id, request->undo(),
                                  AnswerWith(reactor, response));
  return reactor;
}

}  // namespace epochd::api
