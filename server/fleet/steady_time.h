// SPDX-License-Identifier: Apache-2.0
//
// A moment on the steady clock. Leases and timeouts use it, so that a jump of
// the wall clock moves none of them. Means nothing in another process.
#pragma once

#include <compare>

#include "absl/time/time.h"

namespace epochd::fleet {

class SteadyTime {
 public:
  SteadyTime() = default;
  explicit SteadyTime(absl::Duration since_origin) : since_(since_origin) {}
  static SteadyTime InfiniteFuture() {
    return SteadyTime(absl::InfiniteDuration());
  }

  absl::Duration since_origin() const { return since_; }

  SteadyTime& operator+=(absl::Duration d) {
    since_ += d;
    return *this;
  }
  friend SteadyTime operator+(SteadyTime t, absl::Duration d) {
    return SteadyTime(t.since_ + d);
  }
  friend SteadyTime operator-(SteadyTime t, absl::Duration d) {
    return SteadyTime(t.since_ - d);
  }
  friend absl::Duration operator-(SteadyTime a, SteadyTime b) {
    return a.since_ - b.since_;
  }
  friend bool operator==(SteadyTime a, SteadyTime b) {
    return a.since_ == b.since_;
  }
  friend bool operator<(SteadyTime a, SteadyTime b) {
    return a.since_ < b.since_;
  }
  friend bool operator<=(SteadyTime a, SteadyTime b) {
    return a.since_ <= b.since_;
  }
  friend bool operator>(SteadyTime a, SteadyTime b) { return b < a; }
  friend bool operator>=(SteadyTime a, SteadyTime b) { return b <= a; }

 private:
  absl::Duration since_ = absl::ZeroDuration();
};

}  // namespace epochd::fleet
