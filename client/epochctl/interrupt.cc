// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/interrupt.h"

#include <csignal>

#include "client/epochctl/exit_code.h"

namespace epochd::epochctl {

Interrupt::Interrupt()
    : thread_([this] {
        const program::Stop why = stop_.Wait();
        signal_ = why.signal;
        if (why.signal != 0) source_.request_stop();
      }) {}

Interrupt::~Interrupt() {
  stop_.Request("the command ended");
  thread_.join();
}

int Interrupt::ExitCode() const {
  return signal_ == SIGTERM ? kTerminated : kInterrupted;
}

}  // namespace epochd::epochctl
