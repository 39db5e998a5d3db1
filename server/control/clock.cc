// SPDX-License-Identifier: Apache-2.0
#include "server/control/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace epochd::control {

fleet::SteadyTime SystemClock::Steady() const {
  return fleet::SteadyTime(
      absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch()));
}

absl::Time SystemClock::Wall() const { return absl::Now(); }

}  // namespace epochd::control
