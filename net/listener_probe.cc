// SPDX-License-Identifier: Apache-2.0
#include "net/listener_probe.h"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace epochd::net {
namespace {

// Client preface of HTTP/2 with empty SETTINGS; a server answers with its own.
constexpr char kHello[] =
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    "\0\0\0\4\0\0\0\0\0";
constexpr size_t kHelloBytes = sizeof(kHello) - 1;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// An address that listens on all interfaces is reached through loopback.
std::string ReachableHost(const std::string& host) {
  if (host == "0.0.0.0") return "127.0.0.1";
  if (host == "::") return "::1";
  return host;
}

absl::Status Connect(const Socket& socket, const addrinfo& target,
                     absl::Duration timeout) {
  // Blocking calls from here on, each bounded.
  const timeval limit = absl::ToTimeval(timeout);
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  if (::connect(socket.fd(), target.ai_addr, target.ai_addrlen) != 0) {
    return absl::ErrnoToStatus(errno, "cannot connect");
  }
  return absl::OkStatus();
}

absl::Status AskPlain(const Socket& socket) {
  char answer = 0;
  if (::send(socket.fd(), kHello, kHelloBytes, MSG_NOSIGNAL) !=
          static_cast<ssize_t>(kHelloBytes) ||
      ::recv(socket.fd(), &answer, 1, 0) != 1) {
    return absl::ErrnoToStatus(errno == 0 ? ECONNRESET : errno, "no answer");
  }
  return absl::OkStatus();
}

absl::Status AskTls(const Socket& socket) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
      ::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(::SSL_new(context.get()),
                                                      &::SSL_free);
  constexpr unsigned char kAlpn[] = "\x02h2";
  ::SSL_set_alpn_protos(ssl.get(), kAlpn, sizeof(kAlpn) - 1);
  ::SSL_set_fd(ssl.get(), socket.fd());
  if (::SSL_connect(ssl.get()) != 1) {
    return absl::UnavailableError("no TLS handshake");
  }
  return absl::OkStatus();
}

absl::Status ProbeOnce(const ListenerProbe::Options& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(ReachableHost(options.address.host).c_str(),
                    absl::StrCat(options.address.port).c_str(), &hints,
                    &found) != 0) {
    return absl::UnavailableError("cannot resolve the address");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> targets(
      found, &::freeaddrinfo);
  const Socket socket(
      ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0)
    return absl::ErrnoToStatus(errno, "cannot make a socket");
  const absl::Status status = Connect(socket, *found, options.timeout);
  if (!status.ok()) return status;
  return options.tls ? AskTls(socket) : AskPlain(socket);
}

}  // namespace

ListenerProbe::ListenerProbe(Options options,
                             std::function<void(std::string)> on_dead)
    : options_(std::move(options)),
      on_dead_(std::move(on_dead)),
      thread_([this] { Run(); }) {}

ListenerProbe::~ListenerProbe() {
  stop_.Notify();
  thread_.join();
}

void ListenerProbe::Run() {
  int num_failures = 0;
  while (!stop_.WaitForNotificationWithTimeout(options_.interval)) {
    const absl::Status status = ProbeOnce(options_);
    num_failures = status.ok() ? 0 : num_failures + 1;
    if (num_failures < options_.num_failures) continue;
    on_dead_(absl::StrCat("own listener ", options_.address.ToString(),
                          " does not answer: ", std::string(status.message())));
    return;
  }
}

}  // namespace epochd::net
