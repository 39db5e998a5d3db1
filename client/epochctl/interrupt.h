// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C and SIGTERM as a stop token, for commands that end in good order.
// Make it before anything that starts threads (a channel); from the first
// signal on a second one ends the process at once. Others find out by
// `signal()`.
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

#include "program/signals.h"

namespace epochd::epochctl {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  // SIGINT, SIGTERM; 0: none came.
  int signal() const { return signal_; }
  // kInterrupted or kTerminated.
  int ExitCode() const;

 private:
  program::StopSignal stop_;
  std::stop_source source_;
  std::atomic<int> signal_ = 0;
  std::thread thread_;
};

}  // namespace epochd::epochctl
