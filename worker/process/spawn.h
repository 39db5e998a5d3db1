// SPDX-License-Identifier: Apache-2.0
//
// Starts a program from a process with threads. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace epochd::process {

struct SpawnOptions {
  std::vector<std::string> arguments{};  // [0] is the program's path
  // Becomes descriptor 3 of the program; -1: none. It inherits no other.
  int inherited_fd = -1;
  // Where stdout and stderr go; empty: where ours go.
  std::string output_path{};
  // Becomes stdout instead; -1: none.
  int stdout_fd = -1;
  bool new_session = false;
};

// Signals are as by default and unblocked in the program, and its environment
// is cleaned (keeper/rank_environment.h).
absl::StatusOr<pid_t> Spawn(const SpawnOptions& options);

}  // namespace epochd::process
