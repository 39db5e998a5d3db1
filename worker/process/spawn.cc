// SPDX-License-Identifier: Apache-2.0
#include "worker/process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "worker/process/keeper/rank_environment.h"

namespace epochd::process {

absl::StatusOr<pid_t> Spawn(const SpawnOptions& options) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = keeper::CleanEnvironment();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  if (options.stdout_fd >= 0) {
    posix_spawn_file_actions_adddup2(&actions, options.stdout_fd,
                                     STDOUT_FILENO);
  } else if (!options.output_path.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO,
                                     options.output_path.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  }
  int first_closed = 3;
  if (options.inherited_fd >= 0) {
    posix_spawn_file_actions_adddup2(&actions, options.inherited_fd, 3);
    first_closed = 4;
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, first_closed);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (options.new_session) flags |= POSIX_SPAWN_SETSID;
  posix_spawnattr_setflags(&attributes, static_cast<short>(flags));

  pid_t pid = -1;
  const int error = posix_spawn(&pid, arguments[0].c_str(), &actions,
                                &attributes, keeper::Pointers(arguments).data(),
                                keeper::Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("program '", arguments[0], "': ", strerror(error)));
  }
  return pid;
}

}  // namespace epochd::process
