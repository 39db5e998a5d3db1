// SPDX-License-Identifier: Apache-2.0
#include "worker/process/warm_pool.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "worker/process/spawn.h"

namespace epochd::process {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(200);
constexpr absl::Duration kLongestPause = absl::Minutes(1);
// One fork. After so long without any answer it hangs.
constexpr absl::Duration kAnswerTimeout = absl::Seconds(10);
constexpr off_t kMaxLogBytes = 1 << 20;

}  // namespace

WarmPool::WarmPool(std::string trainer, std::string log_path)
    : trainer_(std::move(trainer)), log_path_(std::move(log_path)) {}

WarmPool::~WarmPool() {
  for (const auto& [id, request] : pending_) {
    if (request.listen_fd >= 0) close(request.listen_fd);
  }
  if (socket_ >= 0) close(socket_);
  if (pid_ > 0) {
    // It ends by itself as its socket closed; one that still loads LibTorch
    // would keep us waiting. Keepers have left its session.
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void WarmPool::Poll(absl::Time now) {
  if (socket_ < 0) {
    if (!trainer_.empty() && now >= next_launch_) Launch(now);
    return;
  }
  bool is_open = true;
  while (const auto reply = keeper::ReceiveWarmReply(socket_, is_open)) {
    Answered(*reply);
  }
  if (!is_open) {
    Drop(now);
  } else if (pending_.empty()) {
    answer_deadline_ = absl::InfiniteFuture();
  } else if (answer_deadline_ == absl::InfiniteFuture()) {
    answer_deadline_ = now + kAnswerTimeout;
  } else if (now >= answer_deadline_) {
    spdlog::warn("warm trainer: no answer for {}, ending pid {}",
                 absl::FormatDuration(kAnswerTimeout), pid_);
    Drop(now);
  }
}

void WarmPool::Answered(const keeper::WarmReply& reply) {
  if (reply.ready) {
    ready_ = true;
    pause_ = absl::ZeroDuration();
    spdlog::info("warm trainer is ready, pid {}", pid_);
    return;
  }
  answer_deadline_ = absl::InfiniteFuture();
  const auto it = pending_.find(reply.id);
  if (it == pending_.end()) return;
  if (reply.error == 0) {
    if (it->second.listen_fd >= 0) close(it->second.listen_fd);
  } else {
    spdlog::warn("warm trainer: rank {} of '{}': fork: {}", it->second.rank,
                 it->second.attempt_dir, strerror(reply.error));
    failed_.push_back(std::move(it->second));
  }
  pending_.erase(it);
}

std::vector<keeper::RankRequest> WarmPool::TakeFailed() {
  return std::exchange(failed_, {});
}

void WarmPool::Launch(absl::Time now) {
  // Keeps what the last ones printed, within reason.
  struct stat log {};
  if (stat(log_path_.c_str(), &log) == 0 && log.st_size > kMaxLogBytes) {
    unlink(log_path_.c_str());
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    next_launch_ = now + kLongestPause;
    spdlog::warn("warm trainer: socketpair: {}", strerror(errno));
    return;
  }
  const absl::StatusOr<pid_t> pid =
      Spawn({.arguments = {trainer_, "--warm", "3"},
             .inherited_fd = ends[1],
             .output_path = log_path_,
             .new_session = true});
  close(ends[1]);
  socket_ = ends[0];
  if (!pid.ok()) {
    spdlog::warn("warm trainer: {}", std::string(pid.status().message()));
    Drop(now);
    return;
  }
  pid_ = *pid;
}

void WarmPool::Drop(absl::Time now) {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(socket_);
  socket_ = -1;
  pid_ = 0;
  ready_ = false;
  // Served or not: a second keeper of a rank gives way to the first.
  for (auto& [id, request] : pending_) failed_.push_back(std::move(request));
  pending_.clear();
  answer_deadline_ = absl::InfiniteFuture();
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  next_launch_ = now + pause_;
  spdlog::warn("warm trainer is gone; ranks start cold for {}",
               absl::FormatDuration(pause_));
}

bool WarmPool::Start(const keeper::RankRequest& request) {
  if (!ready_) return false;
  const int64_t id = ++last_id_;
  if (!keeper::SendRankRequest(socket_, id, request)) return false;
  keeper::RankRequest& kept = pending_[id];
  kept = request;
  if (request.listen_fd >= 0) {
    kept.listen_fd = fcntl(request.listen_fd, F_DUPFD_CLOEXEC, 0);
  }
  return true;
}

}  // namespace epochd::process
