// SPDX-License-Identifier: Apache-2.0
//
// The one source of chance of a simulated run.
#pragma once

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace epochd::sim {

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}

  uint64_t Bits() { return random_(); }
  int Below(int n) { return static_cast<int>(random_() % n); }
  bool OneIn(int n) { return Below(n) == 0; }
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    return low +
           (high - low) * (static_cast<double>(Below(1 << 20)) / (1 << 20));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace epochd::sim
