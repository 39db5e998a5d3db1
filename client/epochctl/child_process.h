// SPDX-License-Identifier: Apache-2.0
//
// A program that must not outlive this one: it gets SIGTERM when this one
// dies, however that happens. Start it on the main thread, since the death of
// the starting thread counts. Not safe across threads.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace epochd::epochctl {

class ChildProcess {
 public:
  // Output goes to the file at `log_path`, input is empty, signals are as by
  // default, it sees no EPOCHD_* variables but those of logging, and it has a
  // process group of its own, so that Ctrl-C is ours to handle.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& arguments, const std::string& log_path);
  // Stops it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // What it ended with ("exit code 1", "signal 9"); nothing: it runs.
  std::optional<std::string> Ended();

  // SIGTERM, and SIGKILL after `grace`; returns once it is gone.
  void Stop(absl::Duration grace);

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::optional<std::string> ended_;
};

}  // namespace epochd::epochctl
