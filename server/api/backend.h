// SPDX-License-Identifier: Apache-2.0
//
// What the services stand on, and how a handler answers.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <utility>

#include "absl/status/statusor.h"
#include "proto/wire/status.h"
#include "server/api/catalogues.h"
#include "server/api/convert_job.h"
#include "server/api/convert_worker.h"
#include "server/api/server_stream.h"
#include "server/api/work_pool.h"
#include "server/control/controller.h"
#include "server/events/file_store.h"
#include "server/events/log_store.h"

namespace epochd::api {

// Everything in it outlives the gRPC server.
struct Backend {
  control::Controller& controller;
  events::LogStore& logs;
  events::FileStore& files;
  Catalogues& catalogues;
  WorkPool& pool;
  OpenStreams& streams;
};

// Answers with what `work` returns, an absl::Status, after it ran on the pool;
// with RESOURCE_EXHAUSTED where too many calls wait. Request and response live
// until then.
template <typename Work>
grpc::ServerUnaryReactor* AnswerOnPool(grpc::CallbackServerContext* context,
                                       WorkPool& pool, Work work) {
  auto* reactor = context->DefaultReactor();
  const absl::Status posted =
      pool.TryPost([reactor, work = std::move(work)]() mutable {
        reactor->Finish(wire::ToGrpc(work()));
      });
  if (!posted.ok()) reactor->Finish(wire::ToGrpc(posted));
  return reactor;
}

// The callback of a command whose result becomes `*response`.
template <typename Response>
auto AnswerWith(grpc::ServerUnaryReactor* reactor, Response* response) {
  return [reactor, response](const auto& result) {
    if (result.ok()) *response = ToProto(*result);
    reactor->Finish(wire::ToGrpc(result.status()));
  };
}

}  // namespace epochd::api
