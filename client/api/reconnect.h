// SPDX-License-Identifier: Apache-2.0
//
// Decides, for a stream that broke, whether it is opened anew, and waits
// before that. One per stream, on the stream's thread.
#pragma once

#include <chrono>
#include <stop_token>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/api/client.h"

namespace epochd::client {

// Returns after `delay`; false: stopped before.
bool WaitOut(absl::Duration delay, const std::stop_token& stop);

class Reconnect {
 public:
  explicit Reconnect(const StreamOptions& options);

  // Something came: the failures before it no longer count.
  void Succeeded();

  // Waits after a failure; OK: open the stream anew. Otherwise what to end
  // with: the failure itself where another try is of no use or all have been
  // made, CANCELLED when the wait was stopped.
  absl::Status Failed(const absl::Status& failure);

 private:
  const StreamOptions& options_;
  absl::BitGen random_;
  int num_failures_ = 0;
  std::chrono::steady_clock::time_point first_failure_;
};

}  // namespace epochd::client
