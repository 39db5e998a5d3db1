// SPDX-License-Identifier: Apache-2.0
#include "tests/server/web/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <stdexcept>

namespace epochd::web {

RawClient::RawClient(int port, int deadline_seconds)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval deadline{deadline_seconds, 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof(deadline));
  if (connect(socket_, reinterpret_cast<sockaddr*>(&address),
              sizeof(address)) != 0) {
    throw std::runtime_error("cannot connect");
  }
}

RawClient::~RawClient() { close(socket_); }

bool RawClient::Send(const std::string& bytes) {
  return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

void RawClient::EndInput() { shutdown(socket_, SHUT_WR); }

std::string RawClient::ReadAll() {
  std::string all;
  char buffer[4096];
  while (true) {
    const ssize_t got = recv(socket_, buffer, sizeof(buffer), 0);
    if (got > 0) {
      all.append(buffer, static_cast<std::size_t>(got));
      continue;
    }
    // A wait with a deadline ends also when the process goes on after a stop.
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      all += "(timeout)";
    }
    return all;
  }
}

std::string Exchange(int port, const std::string& request) {
  RawClient client(port);
  client.Send(request);
  return client.ReadAll();
}

std::string Get(int port, const std::string& path) {
  return Exchange(port, "GET " + path +
                            " HTTP/1.1\r\nHost: localhost\r\n"
                            "Connection: close\r\n\r\n");
}

std::string BodyOf(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

}  // namespace epochd::web
