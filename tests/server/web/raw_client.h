// SPDX-License-Identifier: Apache-2.0
//
// A client that sends any bytes, as no proper client would.
#pragma once

#include <string>

namespace epochd::web {

class RawClient {
 public:
  // Connects to loopback; every wait ends after `deadline_seconds`.
  explicit RawClient(int port, int deadline_seconds = 60);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False when the other side has closed.
  bool Send(const std::string& bytes);
  // Says that nothing more is sent.
  void EndInput();
  // Everything until the other side closes; "(timeout)" behind what came when
  // it does not.
  std::string ReadAll();

 private:
  int socket_;
};

// Sends a whole request that asks to close, and returns the whole answer.
std::string Exchange(int port, const std::string& request);
// GET of `path` with a proper Host.
std::string Get(int port, const std::string& path);
// Behind the headers.
std::string BodyOf(const std::string& answer);

}  // namespace epochd::web
