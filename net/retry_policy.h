// SPDX-License-Identifier: Apache-2.0
//
// How often and how soon a failed call is tried again: the one answer, for
// gRPC's own retries and for loops that connect anew. A plain value.
#pragma once

#include <string>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace epochd::net {

struct RetryPolicy {
  // Tries of one call, the first included. gRPC allows 5 at most.
  int max_attempts = 5;
  absl::Duration initial_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(5);
  double multiplier = 2;

  // gRPC's service config: UNAVAILABLE alone is tried again; every call of our
  // API is safe to repeat.
  std::string ToServiceConfig() const;

  // How long to wait after `num_failures` (1 or more) in a row: between half
  // of the backoff and all of it, so that many callers do not come at once.
  absl::Duration Delay(int num_failures, absl::BitGenRef random) const;
  // The same after `failure`, but no sooner than the server said in it, which
  // is followed up to a minute.
  absl::Duration Delay(int num_failures, absl::BitGenRef random,
                       const absl::Status& failure) const;
};

}  // namespace epochd::net
