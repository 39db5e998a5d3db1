// SPDX-License-Identifier: Apache-2.0
#include "program/signals.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace epochd::program {
namespace {

sigset_t StopSet() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

int Checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return fd;
}

int BlockedSignalFd() {
  const sigset_t set = StopSet();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return Checked(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
}

int PollFd(int first, int second) {
  const int poll_fd = Checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  for (const int fd : {first, second}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    Checked(epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
  }
  return poll_fd;
}

}  // namespace

StopSignal::StopSignal(Again again)
    : again_(again),
      signal_fd_(BlockedSignalFd()),
      request_fd_(Checked(eventfd(0, EFD_CLOEXEC), "eventfd")),
      poll_fd_(PollFd(signal_fd_, request_fd_)) {}

StopSignal::~StopSignal() {
  ::close(poll_fd_);
  ::close(request_fd_);
  ::close(signal_fd_);
}

void StopSignal::Request(std::string reason) {
  absl::MutexLock lock(&mutex_);
  if (!reason_.empty()) return;
  reason_ = reason.empty() ? "asked to stop" : std::move(reason);
  const uint64_t one = 1;
  // Cannot fail: the counter is far from full.
  [[maybe_unused]] const auto written = ::write(request_fd_, &one, sizeof(one));
}

Stop StopSignal::Wait() {
  epoll_event event{};
  while (epoll_wait(poll_fd_, &event, 1, -1) < 1) {
  }
  Stop stop;
  signalfd_siginfo info{};
  if (::read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
    stop.signal = static_cast<int>(info.ssi_signo);
    stop.reason =
        absl::StrCat("got ", stop.signal == SIGINT ? "SIGINT" : "SIGTERM");
  } else {
    absl::MutexLock lock(&mutex_);
    stop.reason = reason_;
  }
  if (again_ == Again::kIgnored) return stop;
  const sigset_t set = StopSet();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  return stop;
}

}  // namespace epochd::program
