// SPDX-License-Identifier: Apache-2.0
#include "worker/process/keeper/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "worker/link/attempt_folder.h"
#include "worker/link/attempt_spec.h"
#include "worker/link/command.h"
#include "worker/link/command_socket.h"
#include "worker/link/exit_code.h"
#include "worker/process/keeper/process_tree.h"
#include "worker/process/keeper/rank_environment.h"
#include "worker/process/keeper/rank_process.h"

namespace epochd::keeper {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kMemoryInterval{250};
constexpr milliseconds kKillInterval{20};

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, 1e8)));
}

int64_t WallNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGQUIT}) {
    sigaddset(&set, number);
  }
  return set;
}

// Sends everything the keeper and the rank say to the log, nothing comes in.
bool RedirectTo(const std::string& log_path) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int log =
      open(log_path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  return null >= 0 && log >= 0 && dup2(null, STDIN_FILENO) == STDIN_FILENO &&
         dup2(log, STDOUT_FILENO) == STDOUT_FILENO &&
         dup2(log, STDERR_FILENO) == STDERR_FILENO;
}

// Closes all above stderr but `kept`.
void CloseOthers(int kept) {
  if (kept > 3) close_range(3, static_cast<unsigned>(kept) - 1, 0);
  close_range(kept >= 3 ? static_cast<unsigned>(kept) + 1 : 3, ~0U, 0);
}

const link::RankSpec* FindRank(const link::AttemptSpec& spec, int rank) {
  for (const link::RankSpec& candidate : spec.ranks) {
    if (candidate.rank == rank) return &candidate;
  }
  return nullptr;
}

// The wait for one rank, from its fork to exit.json.
class Watch {
 public:
  Watch(const link::AttemptSpec& spec, std::string rank_dir)
      : spec_(spec), rank_dir_(std::move(rank_dir)) {
    const sigset_t set = WatchedSignals();
    signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    oom_kills_before_ = OomKills();
    // A trainer ends itself with its lease; a command does not know of it.
    if (!spec.command.empty()) {
      socket_ =
          std::make_unique<link::CommandSocket>(link::ControlPath(rank_dir_));
      if (spec.self_fence_after > 0) {
        lease_end_ =
            spec.lease_end_ns > 0
                ? Clock::time_point(std::chrono::nanoseconds(spec.lease_end_ns))
                : Clock::now() + Seconds(spec.self_fence_after);
      }
    }
  }

  void Run(pid_t rank_pid) {
    rank_pid_ = rank_pid;
    next_memory_look_ = Clock::now() + kMemoryInterval;
    while (Reap()) {
      Wait();
      ReadSignals();
      ReadCommands();
      CheckDeadlines();
    }
    link::WriteExit(rank_dir_, record_);
  }

 private:
  // Collects the dead. False once no child is left; as we are the subreaper,
  // nothing of the tree is left then.
  bool Reap() {
    while (true) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == EINTR) continue;
      if (pid < 0) return false;
      if (pid == 0) return true;
      if (pid == rank_pid_) RankEnded(status);
    }
  }

  void RankEnded(int status) {
    if (WIFEXITED(status)) {
      record_.exit_code = WEXITSTATUS(status);
    } else {
      record_.term_signal = WTERMSIG(status);
    }
    if (fenced_) {
      record_.term_signal.reset();
      record_.exit_code = link::kSelfFenced;
    }
    record_.stopped = stop_end_.has_value();
    record_.oom = over_memory_ || (record_.term_signal == SIGKILL &&
                                   !killing_ && OomKills() > oom_kills_before_);
    record_.end_ns = WallNanoseconds();
    rank_pid_ = 0;
    killing_ = true;
    KillTree();
  }

  void KillTree() {
    for (const pid_t pid : Descendants(getpid())) kill(pid, SIGKILL);
    next_kill_ = Clock::now() + kKillInterval;
  }

  void StartKilling() {
    if (killing_) return;
    killing_ = true;
    KillTree();
  }

  void Wait() {
    std::optional<Clock::time_point> next;
    const auto consider = [&](Clock::time_point time) {
      next = next ? std::min(*next, time) : time;
    };
    if (killing_) {
      consider(next_kill_);
    } else {
      if (stop_end_) consider(*stop_end_);
      if (lease_end_) consider(*lease_end_);
      if (spec_.memory_bytes > 0) consider(next_memory_look_);
    }
    int timeout = -1;
    if (next) {
      const auto left = std::chrono::ceil<milliseconds>(*next - Clock::now());
      timeout =
          static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000'000));
    }
    pollfd waited[2] = {
        {.fd = signal_fd_, .events = POLLIN, .revents = 0},
        {.fd = socket_ ? socket_->fd() : -1, .events = POLLIN, .revents = 0}};
    poll(waited, 2, timeout);
  }

  void ReadSignals() {
    signalfd_siginfo info;
    while (read(signal_fd_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGQUIT) {
        if (!stop_end_) stop_end_ = Clock::now();
        StartKilling();
      } else if (info.ssi_signo != SIGCHLD && !stop_end_) {
        stop_end_ = Clock::now() + Seconds(spec_.stop_grace);
        if (rank_pid_ > 0) {
          // The group may not exist yet in the rank's first microseconds.
          if (kill(-rank_pid_, SIGTERM) != 0) kill(rank_pid_, SIGTERM);
        }
      }
    }
  }

  void ReadCommands() {
    while (socket_) {
      const std::optional<link::Command> command = socket_->Receive();
      if (!command) return;
      if (command->name == link::kLease && command->deadline_ns > 0) {
        lease_end_ =
            Clock::time_point(std::chrono::nanoseconds(command->deadline_ns));
      }
    }
  }

  void CheckDeadlines() {
    const Clock::time_point now = Clock::now();
    if (killing_) {
      if (now >= next_kill_) KillTree();
      return;
    }
    if (lease_end_ && now >= *lease_end_) {
      dprintf(2, "epochd: the lease ended: no word from the agent\n");
      fenced_ = true;
      StartKilling();
    } else if (stop_end_ && now >= *stop_end_) {
      dprintf(2, "epochd: still alive %g s after SIGTERM: killed\n",
              spec_.stop_grace);
      StartKilling();
    } else if (spec_.memory_bytes > 0 && now >= next_memory_look_) {
      next_memory_look_ = now + kMemoryInterval;
      const int64_t used = ResidentBytes(Descendants(getpid()));
      if (used > spec_.memory_bytes) {
        dprintf(2, "epochd: memory: %lld bytes used, %lld allowed: killed\n",
                static_cast<long long>(used),
                static_cast<long long>(spec_.memory_bytes));
        over_memory_ = true;
        StartKilling();
      }
    }
  }

  const link::AttemptSpec& spec_;
  const std::string rank_dir_;
  int signal_fd_ = -1;
  std::unique_ptr<link::CommandSocket> socket_;
  int64_t oom_kills_before_ = 0;
  pid_t rank_pid_ = 0;
  // Set once SIGTERM came: when patience ends.
  std::optional<Clock::time_point> stop_end_;
  std::optional<Clock::time_point> lease_end_;
  Clock::time_point next_memory_look_;
  Clock::time_point next_kill_;
  bool killing_ = false;
  bool over_memory_ = false;
  bool fenced_ = false;
  link::ExitRecord record_;
};

void KeepRank(const RankRequest& request, const RankMain& rank_main,
              const std::string& rank_dir) {
  const std::optional<std::string> text =
      link::ReadFile(link::SpecPath(request.attempt_dir));
  const link::AttemptSpec spec = link::FromJson(text.value_or(""));
  const link::RankSpec* rank = FindRank(spec, request.rank);
  if (rank == nullptr) {
    throw std::invalid_argument("attempt.json: ranks: rank '" +
                                std::to_string(request.rank) +
                                "' is not among them");
  }
  Watch watch(spec, rank_dir);
  const pid_t keeper_pid = getpid();
  const pid_t rank_pid = fork();
  if (rank_pid < 0) {
    throw std::runtime_error(std::string("fork: ") + strerror(errno));
  }
  if (rank_pid == 0) {
    RankRequest own = request;
    if (!spec.command.empty()) own.listen_fd = -1;
    CloseOthers(own.listen_fd);
    BecomeRank(spec, *rank, own, rank_main, keeper_pid);
  }
  // Repeats what the rank does first, so that the group exists for sure.
  setpgid(rank_pid, rank_pid);
  // Keeps the rendezvous port of a command, whose own program binds it again;
  // a trainer has the socket itself.
  if (spec.command.empty() && request.listen_fd >= 0) close(request.listen_fd);
  watch.Run(rank_pid);
}

}  // namespace

int RunKeeper(const RankRequest& request, const RankMain& rank_main) {
  const std::string rank_dir = link::RankDir(request.attempt_dir, request.rank);
  CloseOthers(request.listen_fd);
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "epochd-keeper");
  const sigset_t set = WatchedSignals();
  sigprocmask(SIG_SETMASK, &set, nullptr);
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  mkdir(rank_dir.c_str(), 0755);
  const int lock = open(rank_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Two keepers of one rank: an agent asked, died, and its successor asked
  // again. The first goes on.
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0) return 1;
  if (link::ReadExit(rank_dir)) return 1;
  if (!RedirectTo(link::LogPath(rank_dir))) return 1;
  try {
    link::WriteKeeper(rank_dir, IdentityOf(getpid()));
    KeepRank(request, rank_main, rank_dir);
    return 0;
  } catch (const std::exception& error) {
    dprintf(2, "epochd: rank %d: cannot be started: %s\n", request.rank,
            error.what());
  }
  try {
    link::ExitRecord record;
    record.exit_code = link::kInfrastructure;
    record.end_ns = WallNanoseconds();
    link::WriteExit(rank_dir, record);
  } catch (const std::exception& error) {
    // The agent finds no exit.json and a dead keeper: the rank counts as lost.
    dprintf(2, "epochd: exit.json: %s\n", error.what());
  }
  return 1;
}

int StartKeeper(const RankRequest& request, const RankMain& rank_main) {
  const pid_t middle = fork();
  if (middle < 0) return errno;
  if (middle == 0) {
    const pid_t keeper = fork();
    if (keeper != 0) _exit(keeper < 0 ? errno : 0);
    _exit(RunKeeper(request, rank_main));
  }
  int status = 0;
  while (waitpid(middle, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

RankMain ExecRank(const std::string& program) {
  return [program](const RankRequest& request) -> int {
    std::vector<std::string> arguments = {program, "--attempt-dir",
                                          request.attempt_dir, "--rank",
                                          std::to_string(request.rank)};
    if (request.listen_fd >= 0) {
      fcntl(request.listen_fd, F_SETFD, 0);
      arguments.push_back("--listen-fd");
      arguments.push_back(std::to_string(request.listen_fd));
    }
    execv(program.c_str(), Pointers(arguments).data());
    dprintf(2, "epochd: trainer '%s': %s\n", program.c_str(), strerror(errno));
    return link::kInfrastructure;
  };
}

}  // namespace epochd::keeper
