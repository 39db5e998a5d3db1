// SPDX-License-Identifier: Apache-2.0
#include "server/web/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/web/http_server.h"

namespace epochd::web {
namespace {

const sockaddr_in& V4(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in&>(storage);
}

const sockaddr_in6& V6(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in6&>(storage);
}

}  // namespace

absl::StatusOr<SocketAddress> SocketAddress::Parse(const std::string& host,
                                                   uint16_t port) {
  SocketAddress address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.size = sizeof(v4);
  } else if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.size = sizeof(v6);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("http address: not a numeric address, '", host,
                     "'; expected one such as 127.0.0.1 or ::1"));
  }
  return address;
}

bool SocketAddress::IsLoopback() const {
  if (storage.ss_family == AF_INET) {
    return (ntohl(V4(storage).sin_addr.s_addr) >> 24) == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&V6(storage).sin6_addr);
}

uint16_t SocketAddress::port() const {
  return ntohs(storage.ss_family == AF_INET ? V4(storage).sin_port
                                            : V6(storage).sin6_port);
}

std::string SocketAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = {};
  if (storage.ss_family == AF_INET) {
    inet_ntop(AF_INET, &V4(storage).sin_addr, text, sizeof(text));
    return absl::StrCat(text, ":", port());
  }
  inet_ntop(AF_INET6, &V6(storage).sin6_addr, text, sizeof(text));
  return absl::StrCat("[", text, "]:", port());
}

absl::StatusOr<int> Listen(const SocketAddress& address, SocketAddress& bound) {
  const int descriptor =
      socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  bound = address;
  if (descriptor >= 0 &&
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      bind(descriptor, reinterpret_cast<const sockaddr*>(&address.storage),
           address.size) == 0 &&
      listen(descriptor, SOMAXCONN) == 0 &&
      getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound.storage),
                  &bound.size) == 0) {
    return descriptor;
  }
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  return absl::UnavailableError(absl::StrCat(
      "http address ", address.ToString(), ": ", std::strerror(error)));
}

bool IsLocalHost(std::string_view host) {
  // Takes a port off; a bare IPv6 address has more than one colon.
  const std::size_t colon = host.rfind(':');
  const bool bracketed = !host.empty() && host.front() == '[';
  if (colon != std::string_view::npos &&
      (bracketed ? colon > 0 && host[colon - 1] == ']'
                 : host.find(':') == colon)) {
    host = host.substr(0, colon);
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const std::string name(host);
  return absl::EqualsIgnoreCase(name, "localhost") ||
         SocketAddress::Parse(name, 0).ok();
}

bool IsLoopback(const std::string& address) {
  const auto parsed = SocketAddress::Parse(address, 0);
  return parsed.ok() && parsed->IsLoopback();
}

}  // namespace epochd::web
