// SPDX-License-Identifier: Apache-2.0
//
// Watcher: the thread of a rank that listens while the training thread works:
// signals, commands of the agent, and the lease, whose end ends the process
// (exit code 76), so that no rank trains on unseen. The first SIGTERM asks the
// trainer to stop with a checkpoint, the first SIGINT to be interrupted, which
// saves too; a second signal of either kind ends the process at once, with
// 128 + its number. Made before any other thread: it blocks both for all. Ends
// with the object.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "worker/engine/loop/trainer.h"
#include "worker/link/command_socket.h"
#include "worker/trainer/line_sink.h"

namespace epochd::trainer {

class Watcher {
 public:
  struct Options {
    std::string control_path;
    // Seconds after which the process ends itself unless told otherwise; 0:
    // never.
    double self_fence_after = 0;
    // When it does so the first time (CLOCK_MONOTONIC, nanoseconds); 0: that
    // long from now.
    int64_t lease_end_ns = 0;
  };
  // `sink` and `writer` outlive this. Throws std::system_error.
  Watcher(const Options& options, LineSink& sink, link::EventWriter& writer);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Whom to tell of a stop; one that came before is told at once. nullptr:
  // nobody any more.
  void Watch(engine::Trainer* trainer);
  bool stop_requested() const { return stop_requested_; }
  // Whether a stop, also one that came before, ends the process at once (exit
  // code 75): for what waits for other ranks and has nothing to save.
  void SetStopEnds(bool ends);

 private:
  void Run();
  void Heed(int signal_number);
  // Passes a stop on. mutex_ is held.
  void Tell();
  void Obey(const link::Command& command);
  // Milliseconds until the lease ends; -1: it does not.
  int TimeLeft() const;
  [[noreturn]] void FenceOff();

  LineSink& sink_;
  link::EventWriter& writer_;
  link::CommandSocket socket_;
  const pthread_t training_thread_;
  int signal_fd_ = -1;
  int end_fd_ = -1;
  std::atomic<bool> stop_requested_ = false;
  bool is_interrupt_ = false;             // guarded by mutex_
  std::atomic<int64_t> deadline_ns_ = 0;  // CLOCK_MONOTONIC; 0: none
  std::mutex mutex_;
  engine::Trainer* trainer_ = nullptr;  // guarded by mutex_
  bool stop_ends_ = false;              // guarded by mutex_
  std::thread thread_;
};

}  // namespace epochd::trainer
