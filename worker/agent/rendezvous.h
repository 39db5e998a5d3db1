// SPDX-License-Identifier: Apache-2.0
//
// The socket at which the ranks of an attempt meet, bound before any of them
// starts, so that no port is guessed and none is taken in between.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace epochd::agent {

struct RendezvousSocket {
  int fd = -1;
  // host:port, as told to all ranks.
  std::string address;
};

// Binds port 0 of `host` (a name or an address of this machine; one that is
// not, as behind a forwarded port, makes it all interfaces). With `listening`
// the socket is ready to be inherited as TCPStore's masterListenFd; else it
// only keeps the port, and a program that sets SO_REUSEADDR, as TCPStore does,
// can bind and listen there. The caller closes fd.
absl::StatusOr<RendezvousSocket> BindRendezvous(const std::string& host,
                                                bool listening);

}  // namespace epochd::agent
