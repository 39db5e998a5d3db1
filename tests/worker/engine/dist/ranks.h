// SPDX-License-Identifier: Apache-2.0
//
// Runs a function as the ranks of a gang, each in a forked process, with a
// rendezvous socket that was bound before. For tests; call it before LibTorch
// has started a thread.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/dist/gloo.h"

namespace epochd::engine {

// Returns the wait status of each rank. A rank exits with what `body` returns;
// 70 + kind of an Error that it throws.
inline std::vector<int> RunRanks(
    int world_size, const std::function<int(const GlooOptions&)>& body) {
  const int listen_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listen_fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listen_fd, 64) != 0 ||
      getsockname(listen_fd, reinterpret_cast<sockaddr*>(&address), &size) !=
          0) {
    ADD_FAILURE() << "no socket";
    return {};
  }
  std::vector<pid_t> pids;
  for (int rank = 0; rank < world_size; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      signal(SIGPIPE, SIG_IGN);  // as the trainer does
      int code = 1;
      try {
        code = body({.rank = rank,
                     .world_size = world_size,
                     .rendezvous =
                         "127.0.0.1:" + std::to_string(ntohs(address.sin_port)),
                     .listen_fd = rank == 0 ? listen_fd : -1,
                     .timeout = std::chrono::seconds(120)});
      } catch (const Error& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        code = 70 + static_cast<int>(error.kind());
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      }
      std::fflush(nullptr);
      _exit(code);
    }
    pids.push_back(pid);
  }
  close(listen_fd);
  std::vector<int> statuses;
  for (pid_t pid : pids) {
    int status = 0;
    waitpid(pid, &status, 0);
    statuses.push_back(status);
  }
  return statuses;
}

}  // namespace epochd::engine
