// SPDX-License-Identifier: Apache-2.0
#include "net/retry_policy.h"

#include <algorithm>
#include <cmath>

#include "absl/random/distributions.h"
#include "absl/strings/str_format.h"
#include "proto/wire/status.h"

namespace epochd::net {
namespace {

constexpr absl::Duration kLongestTold = absl::Minutes(1);

}  // namespace

std::string RetryPolicy::ToServiceConfig() const {
  return absl::StrFormat(
      R"({"methodConfig": [{"name": [{}], "retryPolicy": {)"
      R"("maxAttempts": %d, "initialBackoff": "%.3fs", "maxBackoff": "%.3fs", )"
      R"("backoffMultiplier": %g, "retryableStatusCodes": ["UNAVAILABLE"]}}]})",
      max_attempts, absl::ToDoubleSeconds(initial_backoff),
      absl::ToDoubleSeconds(max_backoff), multiplier);
}

absl::Duration RetryPolicy::Delay(int num_failures,
                                  absl::BitGenRef random) const {
  const double growth = std::pow(multiplier, std::max(num_failures, 1) - 1);
  const absl::Duration backoff =
      std::min(max_backoff, initial_backoff * std::min(growth, 1e9));
  return backoff * absl::Uniform(random, 0.5, 1.0);
}

absl::Duration RetryPolicy::Delay(int num_failures, absl::BitGenRef random,
                                  const absl::Status& failure) const {
  const absl::Duration told = std::min(
      wire::RetryDelay(failure).value_or(absl::ZeroDuration()), kLongestTold);
  return std::max(Delay(num_failures, random), told);
}

}  // namespace epochd::net
