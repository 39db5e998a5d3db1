// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace epochd::epochctl {
namespace {

constexpr absl::Duration kDefaultGrace = absl::Seconds(10);

// Runs between fork and exec: only calls that are safe there.
[[noreturn]] void Become(char* const* arguments, char* const* variables,
                         int log_fd, int null_fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // The parent may have died before the line above.
  if (getppid() != parent) _exit(127);
  setpgid(0, 0);
  for (int signal_number : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) {
    signal(signal_number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(null_fd, STDIN_FILENO);
  dup2(log_fd, STDOUT_FILENO);
  dup2(log_fd, STDERR_FILENO);
  execve(arguments[0], arguments, variables);
  constexpr char kMessage[] = "the program can't be started\n";
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(127);
}

// The environment without our own settings, which are not the child's: it gets
// its by arguments.
std::vector<char*> OtherVariables() {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("EPOCHD_") && !text.starts_with("EPOCHD_LOG_")) {
      continue;
    }
    variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

absl::Status FileError(const std::string& path, int error) {
  return absl::InternalError(path + ": " + strerror(error));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& arguments, const std::string& log_path) {
  if (access(arguments.front().c_str(), X_OK) != 0) {
    return absl::NotFoundError("no program '" + arguments.front() +
                               "' beside this one");
  }
  const int log_fd =
      open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd < 0) return FileError(log_path, errno);
  const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd < 0) {
    const int error = errno;
    close(log_fd);
    return FileError("/dev/null", error);
  }
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  const std::vector<char*> variables = OtherVariables();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    Become(pointers.data(), variables.data(), log_fd, null_fd, parent);
  }
  const int error = errno;
  close(log_fd);
  close(null_fd);
  if (pid < 0) return FileError("fork", error);
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid));
}

ChildProcess::~ChildProcess() { Stop(kDefaultGrace); }

std::optional<std::string> ChildProcess::Ended() {
  if (ended_) return ended_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  ended_ = WIFSIGNALED(status)
               ? "signal " + std::to_string(WTERMSIG(status))
               : "exit code " + std::to_string(WEXITSTATUS(status));
  return ended_;
}

void ChildProcess::Stop(absl::Duration grace) {
  if (Ended()) return;
  kill(pid_, SIGTERM);
  const int pid_fd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (pid_fd >= 0) {
    pollfd wait = {pid_fd, POLLIN, 0};
    while (poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(grace))) <
               0 &&
           errno == EINTR) {
    }
    close(pid_fd);
  }
  if (Ended()) return;
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ended_ = "signal 9";
}

}  // namespace epochd::epochctl
