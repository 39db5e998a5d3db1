// SPDX-License-Identifier: Apache-2.0
//
// A trainer that trains nothing: its "experiment" is a shell script, run as the
// rank. Speaks all of the real one's command lines, and is its own keeper.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "worker/link/attempt_folder.h"
#include "worker/link/attempt_spec.h"
#include "worker/process/keeper/keeper_command.h"
#include "worker/process/keeper/warm_parent.h"

namespace {

using epochd::keeper::RankRequest;

int RunScript(const RankRequest& request) {
  const auto spec = epochd::link::FromJson(
      epochd::link::ReadFile(epochd::link::SpecPath(request.attempt_dir))
          .value_or(""));
  setenv("STARTED", request.warm ? "warm" : "cold", 1);
  setenv("LISTEN_FD", std::to_string(request.listen_fd).c_str(), 1);
  if (request.listen_fd >= 0) fcntl(request.listen_fd, F_SETFD, 0);
  execl("/bin/sh", "sh", "-c", spec.experiment_json.c_str(), nullptr);
  return 71;
}

// A warm parent whose forks fail: takes requests and refuses each.
int RefuseAll(int socket_fd) {
  constexpr char kReady[] = R"({"ready": true})";
  if (write(socket_fd, kReady, sizeof kReady - 1) < 0) return 1;
  char request[4096];
  ssize_t n = 0;
  // Reading drops the descriptor that comes along.
  while ((n = read(socket_fd, request, sizeof request - 1)) > 0) {
    request[n] = '\0';
    const char* id = strstr(request, "\"id\":");
    dprintf(STDOUT_FILENO, "refused\n");
    dprintf(socket_fd, R"({"id": %d, "errno": 11})",
            id == nullptr ? 0 : atoi(id + 5));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = epochd::keeper::RunKeeperCommand(argc, argv)) {
    return *code;
  }
  RankRequest request;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--catalogue") {
      puts(R"({"version": 1, "components": []})");
      return 0;
    }
    if (name == "--warm") {
      if (getenv("TORCH_FAKE_CANNOT_FORK") != nullptr) {
        return RefuseAll(atoi(value));
      }
      return epochd::keeper::RunWarmParent(atoi(value), RunScript);
    }
    if (name == "--attempt-dir") request.attempt_dir = value;
    if (name == "--rank") request.rank = atoi(value);
    if (name == "--listen-fd") request.listen_fd = atoi(value);
  }
  return RunScript(request);
}
