// SPDX-License-Identifier: Apache-2.0
#include "tests/hooks/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace epochd::hooks {

HttpServer::HttpServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) !=
          0 ||
      pipe(end_) != 0) {
    throw std::runtime_error("no port for a server");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

HttpServer::~HttpServer() {
  if (write(end_[1], "x", 1) == 1) thread_.join();
  for (int fd : {listener_, end_[0], end_[1]}) close(fd);
}

std::string HttpServer::uri() const {
  return "http://127.0.0.1:" + std::to_string(port_);
}

std::vector<HttpServer::Request> HttpServer::Of(
    const std::string& suffix) const {
  std::lock_guard lock(mutex_);
  std::vector<Request> found;
  for (const Request& each : requests_) {
    if (each.path.substr(0, each.path.find('?')).ends_with(suffix)) {
      found.push_back(each);
    }
  }
  return found;
}

void HttpServer::Run() {
  for (;;) {
    pollfd fds[2] = {{listener_, POLLIN, 0}, {end_[0], POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 || fds[1].revents != 0) return;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    Serve(connection);
    close(connection);
  }
}

void HttpServer::Serve(int connection) {
  std::string text;
  size_t head_end = std::string::npos;
  size_t length = 0;
  char buffer[4096];
  while (head_end == std::string::npos || text.size() < head_end + 4 + length) {
    const ssize_t got = read(connection, buffer, sizeof(buffer));
    if (got <= 0) return;
    text.append(buffer, static_cast<size_t>(got));
    if (head_end == std::string::npos) {
      head_end = text.find("\r\n\r\n");
      const size_t at = text.find("Content-Length: ");
      if (at < head_end) length = std::stoul(text.substr(at + 16));
    }
  }
  Request request;
  request.head = text.substr(0, head_end);
  request.method = text.substr(0, text.find(' '));
  const size_t path = request.method.size() + 1;
  request.path = text.substr(path, text.find(' ', path) - path);
  request.body =
      nlohmann::json::parse(text.substr(head_end + 4), nullptr, false);
  Response response = handler_(request);
  {
    std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }
  const std::string body = response.body.dump();
  const std::string answer =
      "HTTP/1.1 " + std::to_string(response.status) +
      " X\r\nContent-Type: application/json\r\nConnection: close\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  if (write(connection, answer.data(), answer.size()) < 0) return;
}

HttpServer::Response AnswerAsMlflow(const HttpServer::Request& request) {
  const std::string path = request.path.substr(0, request.path.find('?'));
  if (path.ends_with("/get-by-name")) {
    return {404, {{"error_code", "RESOURCE_DOES_NOT_EXIST"}}};
  }
  if (path.ends_with("/experiments/create")) {
    return {200, {{"experiment_id", "7"}}};
  }
  if (path.ends_with("/runs/create")) {
    return {200, {{"run", {{"info", {{"run_id", "run-1"}}}}}}};
  }
  return {};
}

}  // namespace epochd::hooks
