// SPDX-License-Identifier: Apache-2.0
//
// A small HTTP server for monitoring: GET and HEAD of fixed paths, nothing
// else. Connections, their number per client, their memory and their idle time
// are limited. No TLS, no authentication: whoever binds it wider than loopback
// decides that (main does). A server bound to loopback answers only requests
// whose Host is an address or "localhost", so that a web page cannot reach it
// under a name of its own.
//
//   auto server = HttpServer::Start({.address = "127.0.0.1"}, routes);
//   (*server)->port();   // the one the system chose
//
// Handlers run on the server's threads, several at a time. Destroying it ends
// open connections and waits for running handlers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace epochd::web {

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
};

// By exact path, without query.
using Routes = std::map<std::string, std::function<Response()>>;

class HttpServer {
 public:
  struct Options {
    // Numeric IPv4 or IPv6 address.
    std::string address = "127.0.0.1";
    // 0: the system chooses.
    uint16_t port = 0;
    int num_threads = 2;
    int max_connections = 128;
    int max_connections_per_client = 32;
    absl::Duration idle_timeout = absl::Seconds(10);
  };

  // InvalidArgument for an address that is none; Unavailable when it cannot be
  // bound.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const Options& options, Routes routes);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  // Such as "127.0.0.1:8080" or "[::1]:8080".
  std::string address() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// Whether an address is the machine's own alone. False for what is no address.
bool IsLoopback(const std::string& address);

}  // namespace epochd::web
