// SPDX-License-Identifier: Apache-2.0
//
// The settings of epochd-worker: what flags fill, and what becomes of them.
// Used by main() alone, before threads start.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "net/channel.h"
#include "program/flags.h"
#include "worker/agent/agent.h"

namespace epochd::agent {

struct WorkerOptions {
  std::string coordinator = "127.0.0.1:7950";
  std::string token_file;  // empty: that of this account's coordinator
  std::string name;        // empty: the host's name
  std::string work_dir;
  std::string min_free_space = "512MiB";
  std::string storage;  // empty: work_dir/storage
  int cpus = 0;         // 0: all that may be used
  bool no_gpus = false;
  bool pin_cpus = false;
  std::vector<std::string> labels;
  std::string advertise_host;
  std::string trainer;             // empty: epochd-trainer beside this program
  std::string catalogue;           // empty: asked of the trainer
  std::string plugins;             // handed on to trainers
  bool allow_torchscript = false;  // the same
  bool cold_start = false;
  bool stop_with_parent = false;
  bool stop_attempts_on_exit = false;
  bool leave_attempts_on_exit = false;
  std::string drain_timeout = "90s";
  net::TlsFiles tls;
  bool use_tls = false;
  bool insecure = false;
};

void AddFlags(program::Flags& flags, WorkerOptions& options);

// Checks, fills in defaults, and looks at the machine. INVALID_ARGUMENT names
// the flag.
absl::StatusOr<Agent::Options> MakeAgentOptions(const WorkerOptions& options);

// Reads the token.
absl::StatusOr<net::ChannelOptions> MakeChannelOptions(
    const WorkerOptions& options);

// Whether SIGTERM ends the attempts: as told, else yes where nothing outlives
// us (--stop-with-parent, or we are process 1 of a container), no otherwise.
bool EndsAttemptsOnExit(const WorkerOptions& options, pid_t own_pid);

// Makes a worker name of a host name: "GPU_node.example" is "gpu-node".
std::string NameFromHost(const std::string& hostname);

}  // namespace epochd::agent
