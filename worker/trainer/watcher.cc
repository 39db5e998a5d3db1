// SPDX-License-Identifier: Apache-2.0
#include "worker/trainer/watcher.h"

#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>

#include "worker/link/command.h"
#include "worker/link/exit_code.h"

namespace epochd::trainer {
namespace {

constexpr int64_t kNanos = 1'000'000'000;

int64_t MonotonicNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanos + now.tv_nsec;
}

// Writes the stack of the thread that the signal was sent to.
void WriteStack(int) {
  std::array<void*, 64> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

int Checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return fd;
}

}  // namespace

Watcher::Watcher(const Options& options, LineSink& sink,
                 link::EventWriter& writer)
    : sink_(sink),
      writer_(writer),
      socket_(options.control_path),
      training_thread_(pthread_self()) {
  if (options.self_fence_after > 0) {
    deadline_ns_ = options.lease_end_ns > 0
                       ? options.lease_end_ns
                       : MonotonicNow() +
                             static_cast<int64_t>(options.self_fence_after *
                                                  static_cast<double>(kNanos));
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  signal(SIGUSR1, &WriteStack);
  signal_fd_ =
      Checked(signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
  end_fd_ = Checked(eventfd(0, EFD_CLOEXEC), "eventfd");
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "watcher");
}

Watcher::~Watcher() {
  const uint64_t one = 1;
  if (write(end_fd_, &one, sizeof(one)) == sizeof(one)) thread_.join();
  close(end_fd_);
  close(signal_fd_);
}

void Watcher::Watch(engine::Trainer* trainer) {
  std::lock_guard lock(mutex_);
  trainer_ = trainer;
  Tell();
}

void Watcher::SetStopEnds(bool ends) {
  std::lock_guard lock(mutex_);
  stop_ends_ = ends;
  if (stop_ends_ && stop_requested_) _exit(link::kStoppedWithCheckpoint);
}

int Watcher::TimeLeft() const {
  const int64_t deadline = deadline_ns_;
  if (deadline == 0) return -1;
  const int64_t left = (deadline - MonotonicNow()) / 1'000'000 + 1;
  return static_cast<int>(
      std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
}

void Watcher::FenceOff() {
  writer_.Append(link::NoticeLine(
      "error", "the lease ended: no word from the agent for too long"));
  // Ends at once: another attempt may begin now.
  _exit(link::kSelfFenced);
}

void Watcher::Run() {
  for (;;) {
    std::array<pollfd, 3> fds = {
        {{.fd = end_fd_, .events = POLLIN, .revents = 0},
         {.fd = signal_fd_, .events = POLLIN, .revents = 0},
         {.fd = socket_.fd(), .events = POLLIN, .revents = 0}}};
    const int ready = poll(fds.data(), fds.size(), TimeLeft());
    if (ready < 0 && errno != EINTR) return;
    while (auto command = socket_.Receive()) Obey(*command);
    if (deadline_ns_ != 0 && MonotonicNow() >= deadline_ns_) FenceOff();
    if (ready <= 0) continue;
    if (fds[0].revents != 0) return;
    signalfd_siginfo info;
    while (read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
      Heed(static_cast<int>(info.ssi_signo));
    }
  }
}

void Watcher::Heed(int signal_number) {
  std::lock_guard lock(mutex_);
  if (stop_requested_) {
    writer_.Append(link::NoticeLine("error", "a second signal: ended at once"));
    _exit(128 + signal_number);
  }
  stop_requested_ = true;
  is_interrupt_ = signal_number == SIGINT;
  if (stop_ends_) _exit(link::kStoppedWithCheckpoint);
  Tell();
}

void Watcher::Tell() {
  if (trainer_ == nullptr || !stop_requested_) return;
  if (is_interrupt_) {
    trainer_->RequestInterrupt();
  } else {
    trainer_->RequestStop();
  }
}

void Watcher::Obey(const link::Command& command) {
  if (command.name == link::kLease && command.deadline_ns > 0) {
    deadline_ns_ = command.deadline_ns;
  } else if (command.name == link::kRecorded) {
    sink_.SetRecorded(command.offset);
  } else if (command.name == link::kStacks) {
    pthread_kill(training_thread_, SIGUSR1);
  }
}

}  // namespace epochd::trainer
