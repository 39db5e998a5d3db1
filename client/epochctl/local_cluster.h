// SPDX-License-Identifier: Apache-2.0
//
// A coordinator and a worker of this machine, for one run: both are started
// beside this program, listen on loopback alone, and are gone with it.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "client/epochctl/child_process.h"

namespace epochd::epochctl {

class LocalCluster {
 public:
  struct Options {
    std::string bin_dir;
    // Made; everything that the run leaves is below it.
    std::string folder;
    // CPU slots that the worker offers.
    int cpus = 1;
    // Of the worker's trainers; separated by ':'.
    std::string plugins;
    // Whether they run TorchScript archives.
    bool allow_torchscript = false;
    // What the coordinator checks jobs with; empty: the installed one.
    std::string catalogue;
    absl::Duration start_timeout = absl::Seconds(30);
    std::stop_token stop;
  };

  // Returns once the coordinator answers to its port; the worker may still be
  // starting. On the main thread (see ChildProcess).
  static absl::StatusOr<std::unique_ptr<LocalCluster>> Start(
      const Options& options);
  // Stops the worker, with all it runs, then the coordinator.
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  const std::string& server() const { return server_; }
  const std::string& token_file() const { return token_file_; }

  // FAILED_PRECONDITION names the program that ended and its log.
  absl::Status Check();

 private:
  LocalCluster() = default;

  std::string folder_;
  std::string server_;
  std::string token_file_;
  // Destroyed from the last on: the worker first.
  std::unique_ptr<ChildProcess> coordinator_;
  std::unique_ptr<ChildProcess> worker_;
};

}  // namespace epochd::epochctl
