// SPDX-License-Identifier: Apache-2.0
//
// Both clocks of the coordinator, passed in. Any thread.
#pragma once

#include "absl/time/time.h"
#include "server/fleet/steady_time.h"

namespace epochd::control {

class Clock {
 public:
  virtual ~Clock() = default;

  // Never goes back and never jumps; decides leases, backoff and limits.
  virtual fleet::SteadyTime Steady() const = 0;
  // For people alone: times of events.
  virtual absl::Time Wall() const = 0;
};

class SystemClock final : public Clock {
 public:
  fleet::SteadyTime Steady() const override;
  absl::Time Wall() const override;
};

}  // namespace epochd::control
