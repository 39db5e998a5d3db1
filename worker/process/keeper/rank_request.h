// SPDX-License-Identifier: Apache-2.0
//
// What is needed to start one rank; all else is in the attempt's attempt.json.
#pragma once

#include <functional>
#include <string>

namespace epochd::keeper {

struct RankRequest {
  std::string attempt_dir{};
  int rank = 0;
  // The bound, listening rendezvous socket (TCPStore's masterListenFd) for
  // rank 0 of more than one; -1: none.
  int listen_fd = -1;
  // Forked from a parent that has LibTorch loaded.
  bool warm = false;
};

// Runs the rank in its own process and returns its exit code
// (worker/link/exit_code.h). Called with clean signals and environment,
// stdout and stderr in the rank's log, the work folder `files/` as current.
using RankMain = std::function<int(const RankRequest&)>;

}  // namespace epochd::keeper
