// SPDX-License-Identifier: Apache-2.0
#include "worker/process/keeper/keeper_command.h"

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "worker/process/keeper/keeper.h"

namespace epochd::keeper {

std::optional<int> RunKeeperCommand(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "keeper") return std::nullopt;
  RankRequest request;
  std::string trainer;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view name(argv[i]);
    const char* value = argv[i + 1];
    if (name == "--attempt-dir") request.attempt_dir = value;
    if (name == "--rank") request.rank = atoi(value);
    if (name == "--trainer") trainer = value;
    if (name == "--listen-fd") request.listen_fd = atoi(value);
  }
  if (request.attempt_dir.empty()) {
    fprintf(stderr, "keeper: --attempt-dir: is missing\n");
    return 64;
  }
  // The program that execs the rank hands the socket on by itself.
  if (request.listen_fd >= 0) {
    fcntl(request.listen_fd, F_SETFD, FD_CLOEXEC);
  }
  return StartKeeper(request, ExecRank(trainer));
}

std::vector<std::string> KeeperArguments(const std::string& program,
                                         const RankRequest& request,
                                         const std::string& trainer) {
  std::vector<std::string> arguments = {
      program,         "keeper",
      "--attempt-dir", request.attempt_dir,
      "--rank",        std::to_string(request.rank)};
  if (!trainer.empty()) {
    arguments.insert(arguments.end(), {"--trainer", trainer});
  }
  if (request.listen_fd >= 0) {
    arguments.insert(arguments.end(),
                     {"--listen-fd", std::to_string(request.listen_fd)});
  }
  return arguments;
}

}  // namespace epochd::keeper
