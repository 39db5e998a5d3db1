// SPDX-License-Identifier: Apache-2.0
//
// Numeric addresses and the listening socket of one.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace epochd::web {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  // InvalidArgument unless `host` is a numeric IPv4 or IPv6 address.
  static absl::StatusOr<SocketAddress> Parse(const std::string& host,
                                             uint16_t port);
  bool IsLoopback() const;
  uint16_t port() const;
  std::string ToString() const;
};

// The caller owns the descriptor. Sets `bound` to what was bound.
absl::StatusOr<int> Listen(const SocketAddress& address, SocketAddress& bound);

// Whether a Host header names an address or "localhost", with or without port.
bool IsLocalHost(std::string_view host);

}  // namespace epochd::web
