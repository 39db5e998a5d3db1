// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/rendezvous.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace epochd::agent {
namespace {

constexpr int kBacklog = 2048;

int BindTo(const sockaddr* address, socklen_t size) {
  const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd, address, size) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int BindToAll() {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_ANY);
  return BindTo(reinterpret_cast<const sockaddr*>(&any), sizeof any);
}

int PortOf(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

}  // namespace

absl::StatusOr<RendezvousSocket> BindRendezvous(const std::string& host,
                                                bool listening) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int problem = getaddrinfo(host.c_str(), "0", &hints, &found);
  if (problem != 0) {
    return absl::UnavailableError(
        absl::StrCat("advertised host '", host, "': ", gai_strerror(problem)));
  }
  int fd = -1;
  for (const addrinfo* address = found; address != nullptr && fd < 0;
       address = address->ai_next) {
    fd = BindTo(address->ai_addr, address->ai_addrlen);
  }
  if (fd < 0 && errno == EADDRNOTAVAIL) fd = BindToAll();
  freeaddrinfo(found);
  if (fd < 0 || (listening && listen(fd, kBacklog) != 0)) {
    const std::string error = strerror(errno);
    if (fd >= 0) close(fd);
    return absl::UnavailableError(absl::StrCat("rendezvous socket on '", host,
                                               "': cannot be bound: ", error));
  }
  return RendezvousSocket{.fd = fd,
                          .address = absl::StrCat(host, ":", PortOf(fd))};
}

}  // namespace epochd::agent
