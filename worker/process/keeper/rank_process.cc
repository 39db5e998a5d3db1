// SPDX-License-Identifier: Apache-2.0
#include "worker/process/keeper/rank_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "worker/link/attempt_folder.h"
#include "worker/link/exit_code.h"
#include "worker/process/keeper/rank_environment.h"

namespace epochd::keeper {
namespace {

constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;

void ResetSignals() {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Keeps the rank on the cores that its slots "cpu:N" name. Slots beyond the
// machine's cores name none.
void PinToSlots(const std::vector<std::string>& devices) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const std::string& device : devices) {
    if (device.rfind("cpu:", 0) != 0) continue;
    const int core = atoi(device.c_str() + 4);
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &cores);
  }
  if (CPU_COUNT(&cores) > 0) sched_setaffinity(0, sizeof cores, &cores);
}

// Makes the rank the first that the kernel ends when memory is short, before
// keeper and agent.
void OfferToOomKiller() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "500", 3) != 3) dprintf(2, "epochd: oom_score_adj: not set\n");
  close(fd);
}

[[noreturn]] void RunCommand(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  const std::vector<char*> pointers = Pointers(arguments);
  execvp(pointers[0], pointers.data());
  const int error = errno;
  dprintf(2, "epochd: command '%s': %s\n", pointers[0], strerror(error));
  _exit(error == ENOENT || error == ENOTDIR ? kExitNotFound
                                            : kExitNotExecutable);
}

}  // namespace

void BecomeRank(const link::AttemptSpec& spec, const link::RankSpec& rank,
                const RankRequest& request, const RankMain& rank_main,
                pid_t keeper_pid) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper_pid) _exit(link::kInfrastructure);
  setpgid(0, 0);
  prctl(PR_SET_NAME, ("epochd-rank-" + std::to_string(rank.rank)).c_str());
  ResetSignals();
  OfferToOomKiller();
  if (spec.pin_cpus) PinToSlots(rank.devices);
  std::vector<std::string> environment =
      RankEnvironment(spec, request.attempt_dir, rank);
  clearenv();
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
  const std::string folder = link::FilesDir(request.attempt_dir);
  if (chdir(folder.c_str()) != 0) {
    dprintf(2, "epochd: work folder '%s': %s\n", folder.c_str(),
            strerror(errno));
    _exit(link::kInfrastructure);
  }
  if (!spec.command.empty()) RunCommand(spec.command);
  int code = link::kTrainingFailed;
  try {
    code = rank_main(request);
  } catch (const std::exception& error) {
    dprintf(2, "epochd: rank %d: %s\n", rank.rank, error.what());
  }
  // Leaves out destructors of statics: some belong to the warm parent.
  fflush(nullptr);
  _exit(code);
}

}  // namespace epochd::keeper
