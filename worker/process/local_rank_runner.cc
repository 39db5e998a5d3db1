// SPDX-License-Identifier: Apache-2.0
#include "worker/process/local_rank_runner.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "worker/link/exit_code.h"
#include "worker/process/keeper/keeper_command.h"
#include "worker/process/keeper/process_tree.h"
#include "worker/process/spawn.h"

namespace epochd::process {
namespace {

void AddToEpoll(int epoll_fd, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int64_t WallNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Tells of a rank whose keeper was killed: the rank died with it.
link::ExitRecord LostKeeper() {
  link::ExitRecord record;
  record.term_signal = SIGKILL;
  record.end_ns = WallNanoseconds();
  return record;
}

// Writes the end of a rank that no keeper has taken on. Under the lock that a
// keeper takes before it looks whether there is an exit.json, so that exactly
// one of the two comes first. False: a keeper was.
bool WriteOff(const std::string& rank_dir, link::ExitRecord record) {
  mkdir(rank_dir.c_str(), 0755);
  const int lock = open(rank_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Without the attempt's folder no keeper can begin either.
  if (lock < 0) return errno == ENOENT;
  const bool is_ours = flock(lock, LOCK_EX | LOCK_NB) == 0;
  try {
    record.end_ns = WallNanoseconds();
    if (is_ours && !link::ReadExit(rank_dir)) link::WriteExit(rank_dir, record);
  } catch (const std::exception& error) {
    spdlog::warn("exit record: {}", error.what());
    close(lock);
    return false;
  }
  close(lock);
  return is_ours;
}

}  // namespace

LocalRankRunner::LocalRankRunner(Options options)
    : options_(std::move(options)),
      warm_(options_.warm ? options_.trainer : "", options_.log_path),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      inotify_fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  AddToEpoll(epoll_fd_, inotify_fd_);
}

LocalRankRunner::~LocalRankRunner() {
  for (auto& [dir, watched] : watched_) ClosePidfd(watched);
  for (const auto& [pid, dir] : starters_) waitpid(pid, nullptr, 0);
  close(inotify_fd_);
  close(epoll_fd_);
}

bool LocalRankRunner::Poll(absl::Time now) {
  bool changed = false;
  epoll_event ready[64];
  const int num_ready = epoll_wait(epoll_fd_, ready, 64, 0);
  for (int i = 0; i < num_ready; ++i) {
    // All but these two are pidfds of keepers that ended.
    const int fd = ready[i].data.fd;
    changed = changed || (fd != inotify_fd_ && fd != warm_fd_in_epoll_);
  }
  changed = ReadFolderEvents() || changed;
  changed = CollectStarters() || changed;
  std::erase_if(ended_keepers_,
                [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
  warm_.Poll(now);
  for (const keeper::RankRequest& request : warm_.TakeFailed()) {
    const absl::Status cold = StartCold(request, /*is_command=*/false);
    if (!cold.ok()) {
      Failed(link::RankDir(request.attempt_dir, request.rank),
             std::string(cold.message()));
      changed = true;
    }
    if (request.listen_fd >= 0) close(request.listen_fd);
  }
  if (warm_.fd() != warm_fd_in_epoll_) {
    // A closed descriptor has left the set by itself.
    warm_fd_in_epoll_ = warm_.fd();
    if (warm_fd_in_epoll_ >= 0) AddToEpoll(epoll_fd_, warm_fd_in_epoll_);
  }
  return changed;
}

bool LocalRankRunner::ReadFolderEvents() {
  alignas(inotify_event) char buffer[16384];
  bool changed = false;
  ssize_t n = 0;
  while ((n = read(inotify_fd_, buffer, sizeof buffer)) > 0) {
    for (ssize_t at = 0; at < n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      const std::string_view name = event->len > 0 ? event->name : "";
      changed = changed || name == "keeper.json" || name == "exit.json" ||
                (event->mask & IN_Q_OVERFLOW) != 0;
      at += static_cast<ssize_t>(sizeof(inotify_event)) + event->len;
    }
  }
  return changed;
}

absl::Status LocalRankRunner::Start(const keeper::RankRequest& request,
                                    bool is_command) {
  WatchFolder(link::RankDir(request.attempt_dir, request.rank));
  if (!is_command && warm_.Start(request)) return absl::OkStatus();
  return StartCold(request, is_command);
}

absl::Status LocalRankRunner::StartCold(const keeper::RankRequest& request,
                                        bool is_command) {
  keeper::RankRequest cold = request;
  if (cold.listen_fd >= 0) cold.listen_fd = 3;  // as Spawn numbers it
  const absl::StatusOr<pid_t> pid =
      Spawn({.arguments = keeper::KeeperArguments(
                 options_.keeper, cold, is_command ? "" : options_.trainer),
             .inherited_fd = request.listen_fd});
  if (!pid.ok()) return pid.status();
  starters_[*pid] = link::RankDir(request.attempt_dir, request.rank);
  return absl::OkStatus();
}

bool LocalRankRunner::CollectStarters() {
  bool changed = false;
  std::erase_if(starters_, [&](const auto& starter) {
    int status = 0;
    const pid_t ended = waitpid(starter.first, &status, WNOHANG);
    if (ended == 0) return false;
    if (ended > 0 && status != 0) {
      Failed(starter.second,
             WIFEXITED(status)
                 ? absl::StrCat("fork: ", strerror(WEXITSTATUS(status)))
                 : absl::StrCat("killed by signal ", WTERMSIG(status)));
      changed = true;
    }
    return true;
  });
  return changed;
}

void LocalRankRunner::Failed(const std::string& rank_dir,
                             const std::string& problem) {
  spdlog::warn("'{}': cannot be started: {}", rank_dir, problem);
  // Where its last words are looked for.
  const int log = open(link::LogPath(rank_dir).c_str(),
                       O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (log >= 0) {
    dprintf(log, "epochd: the rank cannot be started: %s\n", problem.c_str());
    close(log);
  }
  link::ExitRecord record;
  record.exit_code = link::kInfrastructure;
  // Unless a keeper came up all the same.
  WriteOff(rank_dir, record);
}

bool LocalRankRunner::GiveUp(const std::string& rank_dir) {
  link::ExitRecord record;
  record.exit_code = link::kInfrastructure;
  record.stopped = true;
  return WriteOff(rank_dir, record);
}

LocalRankRunner::Watched& LocalRankRunner::WatchFolder(
    const std::string& rank_dir) {
  Watched& watched = watched_[rank_dir];
  if (watched.inotify_watch < 0) {
    watched.inotify_watch =
        inotify_add_watch(inotify_fd_, rank_dir.c_str(), IN_MOVED_TO);
  }
  return watched;
}

RankStatus LocalRankRunner::Observe(const std::string& rank_dir) {
  RankStatus status;
  const auto ended = [&](const link::ExitRecord& record) {
    status.phase = RankStatus::Phase::kEnded;
    status.exit = record;
    // A pidfd stays readable from now on.
    if (const auto it = watched_.find(rank_dir); it != watched_.end()) {
      ClosePidfd(it->second);
    }
    return status;
  };
  if (const auto record = link::ReadExit(rank_dir)) return ended(*record);
  Watched& watched = WatchFolder(rank_dir);
  if (watched.pidfd >= 0 && keeper::IsAlive(watched.keeper)) {
    status.phase = RankStatus::Phase::kRunning;
    return status;
  }
  const auto keeper_record = link::ReadKeeper(rank_dir);
  if (!keeper_record) return status;
  const int pidfd = keeper::OpenPidfd(*keeper_record);
  if (pidfd >= 0) {
    ClosePidfd(watched);
    watched.pidfd = pidfd;
    watched.keeper = *keeper_record;
    AddToEpoll(epoll_fd_, pidfd);
    status.phase = RankStatus::Phase::kRunning;
    return status;
  }
  // Without a descriptor, which the kernel may refuse, it lives all the same.
  if (keeper::IsAlive(*keeper_record)) {
    watched.keeper = *keeper_record;
    status.phase = RankStatus::Phase::kRunning;
    return status;
  }
  // Looks again: it may have written the record just before it ended.
  if (const auto record = link::ReadExit(rank_dir)) return ended(*record);
  if (keeper::KillStrays(*keeper_record, rank_dir) > 0) {
    status.phase = RankStatus::Phase::kRunning;
    return status;
  }
  const link::ExitRecord lost = LostKeeper();
  try {
    link::WriteExit(rank_dir, lost);
  } catch (const std::exception& error) {
    spdlog::warn("exit record: {}", error.what());
  }
  return ended(lost);
}

void LocalRankRunner::ClosePidfd(Watched& watched) {
  if (watched.pidfd >= 0) close(watched.pidfd);
  watched.pidfd = -1;
}

void LocalRankRunner::SignalKeeper(const std::string& rank_dir, int signal) {
  const auto found = watched_.find(rank_dir);
  if (found == watched_.end()) return;
  const Watched& watched = found->second;
  if (watched.pidfd >= 0) {
    syscall(SYS_pidfd_send_signal, watched.pidfd, signal, nullptr, 0);
  } else if (keeper::IsAlive(watched.keeper)) {
    kill(static_cast<pid_t>(watched.keeper.pid), signal);
  }
}

void LocalRankRunner::Stop(const std::string& rank_dir) {
  SignalKeeper(rank_dir, SIGTERM);
}

void LocalRankRunner::Kill(const std::string& rank_dir) {
  SignalKeeper(rank_dir, SIGQUIT);
}

void LocalRankRunner::Forget(const std::string& rank_dir) {
  if (const auto record = link::ReadKeeper(rank_dir)) {
    ended_keepers_.push_back(static_cast<pid_t>(record->pid));
  }
  const auto watched = watched_.find(rank_dir);
  if (watched == watched_.end()) return;
  ClosePidfd(watched->second);
  if (watched->second.inotify_watch >= 0) {
    inotify_rm_watch(inotify_fd_, watched->second.inotify_watch);
  }
  watched_.erase(watched);
}

void LocalRankRunner::Send(const std::string& rank_dir,
                           const link::Command& command) {
  link::CommandSocket::Send(link::ControlPath(rank_dir), command);
}

}  // namespace epochd::process
