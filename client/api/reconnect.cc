// SPDX-License-Identifier: Apache-2.0
#include "client/api/reconnect.h"

#include <condition_variable>
#include <mutex>

#include "proto/wire/status.h"

namespace epochd::client {
namespace {

// Whether a stream that ended so may go on another time: a connection that
// broke, or a server that had no room for it and said when it may.
bool MayGoOn(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsDataLoss(status) ||
         (absl::IsResourceExhausted(status) && wire::RetryDelay(status));
}

}  // namespace

bool WaitOut(absl::Duration delay, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, absl::ToChronoNanoseconds(delay),
                [] { return false; });
  return !stop.stop_requested();
}

Reconnect::Reconnect(const StreamOptions& options) : options_(options) {}

void Reconnect::Succeeded() { num_failures_ = 0; }

absl::Status Reconnect::Failed(const absl::Status& failure) {
  if (options_.stop.stop_requested()) return absl::CancelledError("stopped");
  if (!MayGoOn(failure)) return failure;
  const auto now = std::chrono::steady_clock::now();
  if (++num_failures_ == 1) first_failure_ = now;
  if (absl::FromChrono(now - first_failure_) > options_.give_up_after)
    return failure;
  if (options_.on_retry) options_.on_retry(failure);
  const absl::Duration delay =
      options_.retry.Delay(num_failures_, random_, failure);
  if (!WaitOut(delay, options_.stop)) return absl::CancelledError("stopped");
  return absl::OkStatus();
}

}  // namespace epochd::client
