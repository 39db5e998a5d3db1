// SPDX-License-Identifier: Apache-2.0
#include "server/web/http_server.h"

#include <microhttpd.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/web/socket_address.h"

namespace epochd::web {
namespace {

constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Cache-Control", "no-store"},
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'self'; base-uri 'none'; form-action "
     "'none'; frame-ancestors 'none'"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
};

}  // namespace

class HttpServer::Impl {
 public:
  Impl(Routes routes, SocketAddress bound)
      : routes_(std::move(routes)), bound_(bound) {}
  ~Impl() {
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }

  // Owns `socket` from here on.
  absl::Status Start(const Options& options, int socket) {
    daemon_ = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, nullptr, nullptr,
        &Impl::Handle, this, MHD_OPTION_LISTEN_SOCKET, socket,
        MHD_OPTION_THREAD_POOL_SIZE, static_cast<unsigned>(options.num_threads),
        MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(options.max_connections),
        MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        static_cast<unsigned>(options.max_connections_per_client),
        MHD_OPTION_CONNECTION_TIMEOUT,
        static_cast<unsigned>(
            std::max<int64_t>(1, absl::ToInt64Seconds(options.idle_timeout))),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, std::size_t{16384},
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (daemon_ != nullptr) return absl::OkStatus();
    close(socket);
    return absl::InternalError(absl::StrCat("http address ", bound_.ToString(),
                                            ": the server did not start"));
  }

  const SocketAddress& bound() const { return bound_; }

 private:
  static MHD_Result Handle(void* self, MHD_Connection* connection,
                           const char* url, const char* method,
                           const char* /*version*/, const char* /*upload*/,
                           std::size_t* upload_size, void** state) {
    static int seen;
    // The first call comes before a body would; it is answered at once when
    // there is nothing to wait for.
    if (*state == nullptr && IsRead(method)) {
      *state = &seen;
      return MHD_YES;
    }
    if (*upload_size != 0) {
      // Reads nothing of a body that a GET has no use for.
      *upload_size = 0;
      return MHD_YES;
    }
    return Send(connection,
                static_cast<Impl*>(self)->Answer(connection, url, method));
  }

  static bool IsRead(std::string_view method) {
    return method == MHD_HTTP_METHOD_GET || method == MHD_HTTP_METHOD_HEAD;
  }

  Response Answer(MHD_Connection* connection, const char* url,
                  const char* method) const {
    if (!IsRead(method)) return {405, Response().content_type, "GET, HEAD\n"};
    const char* host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_HOST);
    if (bound_.IsLoopback() && host != nullptr && !IsLocalHost(host)) {
      return {403, Response().content_type, "this host is not served here\n"};
    }
    const auto route = routes_.find(url);
    if (route == routes_.end()) {
      return {404, Response().content_type, "not found\n"};
    }
    return route->second();
  }

  static MHD_Result Send(MHD_Connection* connection, const Response& response) {
    MHD_Response* message = MHD_create_response_from_buffer(
        response.body.size(), const_cast<char*>(response.body.data()),
        MHD_RESPMEM_MUST_COPY);
    if (message == nullptr) return MHD_NO;
    MHD_add_response_header(message, MHD_HTTP_HEADER_CONTENT_TYPE,
                            response.content_type.c_str());
    for (const auto& [name, value] : kHeaders) {
      MHD_add_response_header(message, name, value);
    }
    if (response.status == 405) {
      MHD_add_response_header(message, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    }
    const MHD_Result result = MHD_queue_response(
        connection, static_cast<unsigned>(response.status), message);
    MHD_destroy_response(message);
    return result;
  }

  const Routes routes_;
  const SocketAddress bound_;
  MHD_Daemon* daemon_ = nullptr;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const Options& options, Routes routes) {
  const absl::StatusOr<SocketAddress> address =
      SocketAddress::Parse(options.address, options.port);
  if (!address.ok()) return address.status();
  SocketAddress bound;
  const absl::StatusOr<int> socket = Listen(*address, bound);
  if (!socket.ok()) return socket.status();
  auto impl = std::make_unique<Impl>(std::move(routes), bound);
  if (absl::Status status = impl->Start(options, *socket); !status.ok()) {
    return status;
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return impl_->bound().port(); }
std::string HttpServer::address() const { return impl_->bound().ToString(); }

}  // namespace epochd::web
