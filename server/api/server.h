// SPDX-License-Identifier: Apache-2.0
//
// The gRPC server of the coordinator: all services, health and reflection on
// one listener. The token is checked by the credentials (net/), limits are set
// here; services only convert, call and answer.
//
//   auto server = Server::Start(options, controller, logs, files, catalogues);
//   ...
//   server->Stop(absl::Seconds(10));   // before the controller stops
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "net/address.h"
#include "server/api/catalogues.h"
#include "server/api/server_service.h"
#include "server/control/controller.h"
#include "server/events/file_store.h"
#include "server/events/log_store.h"

namespace epochd::api {

class Server {
 public:
  struct Options {
    // Port 0 takes a free one.
    net::Address listen = {"127.0.0.1", 0};
    std::shared_ptr<grpc::ServerCredentials> credentials;
    ServerFacts facts = {};
    int num_threads = 8;
    // Calls that may wait for a thread, and streams that may be open; more are
    // refused with RESOURCE_EXHAUSTED.
    int max_waiting_calls = 4096;
    int max_streams = 16384;
    // Gets +1 and -1 as streams begin and end, on any thread; may be empty.
    std::function<void(int)> streams_changed = {};
  };

  // Serves once it returns. Unavailable when the address is taken. All but
  // `options` outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      Options options, control::Controller& controller, events::LogStore& logs,
      events::FileStore& files, Catalogues& catalogues);

  virtual ~Server() = default;

  // With the port that was taken.
  virtual const net::Address& address() const = 0;
  // Refuses new calls, ends streams with Unavailable, lets unary calls finish
  // for `grace`, then cancels them. May be repeated; the destructor does it
  // with no grace.
  virtual void Stop(absl::Duration grace) = 0;
};

}  // namespace epochd::api
