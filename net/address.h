// SPDX-License-Identifier: Apache-2.0
//
// Where a server listens or is reached. A plain value.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace epochd::net {

struct Address {
  // A name or an IP address, without the brackets of IPv6.
  std::string host;
  // 0 asks for a free port when listening.
  int port = 0;

  // "host:port", or "[host]:port" for IPv6.
  std::string ToString() const;
  // Whether only this machine can reach it: 127.0.0.0/8, ::1, localhost.
  bool IsLoopback() const;
};

// Reads "host:port" and "[ipv6]:port". INVALID_ARGUMENT starts with `what`,
// the flag or field that holds the text.
absl::StatusOr<Address> ParseAddress(const std::string& what,
                                     const std::string& text);

}  // namespace epochd::net
