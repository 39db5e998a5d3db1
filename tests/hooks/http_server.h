// SPDX-License-Identifier: Apache-2.0
//
// A small HTTP server on a port of its own that answers as a test says and
// keeps what it was asked. For tests.
#pragma once

#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace epochd::hooks {

class HttpServer {
 public:
  struct Request {
    std::string method;
    std::string path;
    std::string head;  // all header lines
    nlohmann::json body;
  };
  struct Response {
    int status = 200;
    nlohmann::json body = nlohmann::json::object();
  };
  using Handler = std::function<Response(const Request&)>;

  explicit HttpServer(Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string uri() const;
  // Requests whose path ends so, oldest first.
  std::vector<Request> Of(const std::string& suffix) const;

 private:
  void Run();
  void Serve(int connection);

  const Handler handler_;
  int listener_ = -1;
  int end_[2] = {-1, -1};  // a pipe
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::thread thread_;
};

// Behaves as an MLflow tracking server of one experiment does.
HttpServer::Response AnswerAsMlflow(const HttpServer::Request& request);

}  // namespace epochd::hooks
