// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/local_cluster.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "program/file.h"

namespace epochd::epochctl {
namespace {

// Long enough for trainers to end and their last lines to be handed in.
constexpr absl::Duration kWorkerGrace = absl::Seconds(30);
// Where the coordinator was killed, nobody is left to hand them in to.
constexpr const char* kDrainTimeout = "10s";
constexpr absl::Duration kCoordinatorGrace = absl::Seconds(15);
constexpr int kPollMilliseconds = 10;

absl::Status EndedError(const std::string& program, const std::string& how,
                        const std::string& log) {
  std::string message = program + " ended (" + how + "), see '" + log + "'";
  constexpr size_t kMostBytes = 16 * 1024 * 1024;
  constexpr size_t kLastBytes = 600;
  // Its last line usually says why.
  const absl::StatusOr<std::string> text = program::ReadFile(log, kMostBytes);
  const size_t end = text.ok() ? text->find_last_not_of('\n') + 1 : 0;
  if (end > 0) {
    // npos + 1 is the beginning.
    const size_t begin = text->rfind('\n', end - 1) + 1;
    message += ": " + text->substr(begin, std::min(end - begin, kLastBytes));
  }
  return absl::FailedPreconditionError(message);
}

// The coordinator's address, of its port file; empty: not written yet.
std::string ServerOf(const std::string& port_file) {
  constexpr size_t kMostBytes = 4096;
  const absl::StatusOr<std::string> text =
      program::ReadFile(port_file, kMostBytes);
  if (!text.ok()) return "";
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  return json.is_object() ? json.value("grpc", "") : "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalCluster>> LocalCluster::Start(
    const Options& options) {
  std::unique_ptr<LocalCluster> cluster(new LocalCluster());
  cluster->folder_ = options.folder;
  const std::string state = options.folder + "/coordinator";
  const std::string work = options.folder + "/worker";
  for (const std::string& folder : {options.folder, state, work}) {
    if (const absl::Status made = program::MakePrivateDir(folder); !made.ok()) {
      return made;
    }
  }
  const std::string port_file = options.folder + "/port";
  // One that was killed here before has left its own.
  unlink(port_file.c_str());
  cluster->token_file_ = state + "/token";
  std::vector<std::string> arguments = {options.bin_dir + "/epochd",
                                        "--state-dir",
                                        state,
                                        "--listen",
                                        "127.0.0.1:0",
                                        "--http-listen",
                                        "",
                                        "--port-file",
                                        port_file};
  if (!options.catalogue.empty()) {
    arguments.insert(arguments.end(), {"--catalogue", options.catalogue});
  }
  absl::StatusOr<std::unique_ptr<ChildProcess>> coordinator =
      ChildProcess::Start(arguments, options.folder + "/epochd.log");
  if (!coordinator.ok()) return coordinator.status();
  cluster->coordinator_ = *std::move(coordinator);

  const auto deadline = std::chrono::steady_clock::now() +
                        absl::ToChronoNanoseconds(options.start_timeout);
  while (true) {
    cluster->server_ = ServerOf(port_file);
    if (!cluster->server_.empty()) break;
    if (absl::Status check = cluster->Check(); !check.ok()) return check;
    if (options.stop.stop_requested()) return absl::CancelledError("stopped");
    if (std::chrono::steady_clock::now() > deadline) {
      return absl::DeadlineExceededError(
          "epochd did not say its port in time, see '" + options.folder +
          "/epochd.log'");
    }
    poll(nullptr, 0, kPollMilliseconds);
  }

  arguments = {options.bin_dir + "/epochd-worker",
               "--coordinator",
               cluster->server_,
               "--token-file",
               cluster->token_file_,
               "--work-dir",
               work,
               "--storage",
               options.folder + "/storage",
               "--cpus",
               std::to_string(options.cpus),
               "--drain-timeout",
               kDrainTimeout,
               "--stop-with-parent"};
  if (!options.plugins.empty()) {
    arguments.insert(arguments.end(), {"--plugins", options.plugins});
  }
  if (options.allow_torchscript) arguments.push_back("--allow-torchscript");
  absl::StatusOr<std::unique_ptr<ChildProcess>> worker =
      ChildProcess::Start(arguments, options.folder + "/worker.log");
  if (!worker.ok()) return worker.status();
  cluster->worker_ = *std::move(worker);
  return cluster;
}

LocalCluster::~LocalCluster() {
  if (worker_ != nullptr) worker_->Stop(kWorkerGrace);
  if (coordinator_ != nullptr) coordinator_->Stop(kCoordinatorGrace);
}

absl::Status LocalCluster::Check() {
  if (coordinator_ != nullptr) {
    if (const auto how = coordinator_->Ended()) {
      return EndedError("epochd", *how, folder_ + "/epochd.log");
    }
  }
  if (worker_ != nullptr) {
    if (const auto how = worker_->Ended()) {
      return EndedError("epochd-worker", *how, folder_ + "/worker.log");
    }
  }
  return absl::OkStatus();
}

}  // namespace epochd::epochctl
