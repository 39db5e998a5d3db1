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
//
// A program that ends with its parent asks for Again::kIgnored: of a parent
// with threads the kernel may send the death signal several times.
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

// What signals after the first do.
enum class Again { kEnds, kIgnored };

class StopSignal {
 public:
  explicit StopSignal(Again again = Again::kEnds);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Makes Wait return with signal 0. Any thread; the first reason stays.
  void Request(std::string reason);

  // Readable once Wait would return at once; for programs with a poll loop.
  int fd() const { return poll_fd_; }

  // Blocks until the first signal or Request. Afterwards signals act as by
  // default again, unless they are to be ignored: a second one ends the process
  // at once. One thread, once.
  Stop Wait();

 private:
  const Again again_;
  const int signal_fd_;
  const int request_fd_;
  const int poll_fd_;
  absl::Mutex mutex_;
  std::string reason_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace epochd::program
