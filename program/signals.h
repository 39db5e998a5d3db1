// SPDX-License-Identifier: Apache-2.0
//
// The wish that the program stop: SIGTERM, SIGINT, or a part of the program
// that cannot go on. Make one at the start of main(), before any thread
// exists: it blocks the two signals, so threads started later inherit that,
// and children must have their mask reset before exec. SIGPIPE is ignored.
//
//   program::StopSignal stop;
//   ... start threads ...
//   const program::Stop why = stop.Wait();   // from here a second signal kills
#pragma once

#include <string>

#include "absl/synchronization/mutex.h"

namespace epochd::program {

struct Stop {
  // SIGTERM or SIGINT; 0 when the program asked itself.
  int signal = 0;
  // One sentence for the log.
  std::string reason;
};

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Makes Wait return with signal 0. Any thread; the first reason stays.
  void Request(std::string reason);

  // Readable once Wait would return at once; for programs with a poll loop.
  int fd() const { return poll_fd_; }

  // Blocks until the first signal or Request. Afterwards signals act as by
  // default again: a second one ends the process at once. One thread, once.
  Stop Wait();

 private:
  const int signal_fd_;
  const int request_fd_;
  const int poll_fd_;
  absl::Mutex mutex_;
  std::string reason_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace epochd::program
