// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include "absl/time/time.h"

namespace epochd::agent {

// A moment of CLOCK_MONOTONIC, the clock of all leases and timeouts. As a time
// of day it means nothing; ToUnixNanos gives the clock's nanoseconds.
inline absl::Time SteadyNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

}  // namespace epochd::agent
