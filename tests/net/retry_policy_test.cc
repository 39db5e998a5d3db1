// SPDX-License-Identifier: Apache-2.0
#include "net/retry_policy.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>
#include <string>

#include "net/file_limit.h"
#include "proto/wire/status.h"

namespace epochd::net {
namespace {

TEST(RetryPolicyTest, DelayGrowsWithinHalfAndFullBackoffUpToTheLimit) {
  const RetryPolicy policy;
  std::mt19937_64 random(7);
  for (int failures = 1; failures <= 100; ++failures) {
    const absl::Duration backoff =
        failures > 6 ? absl::Seconds(5)
                     : absl::Milliseconds(100 << (failures - 1));
    for (int i = 0; i < 20; ++i) {
      const absl::Duration delay = policy.Delay(failures, random);
      EXPECT_GE(delay, backoff / 2) << failures;
      EXPECT_LE(delay, backoff) << failures;
    }
  }
}

TEST(RetryPolicyTest, ComesNoSoonerThanTheServerSaid) {
  const RetryPolicy policy;
  std::mt19937_64 random(7);
  const absl::Status told = wire::WithRetryDelay(
      absl::ResourceExhaustedError("full"), absl::Seconds(3));
  EXPECT_EQ(policy.Delay(1, random, told), absl::Seconds(3));
  EXPECT_LE(policy.Delay(1, random, absl::UnavailableError("gone")),
            absl::Milliseconds(100));
  // Whatever it says, it does not keep anybody for ever.
  const absl::Status endless =
      wire::WithRetryDelay(told, absl::InfiniteDuration());
  EXPECT_EQ(policy.Delay(1, random, endless), absl::Minutes(1));
}

TEST(RetryPolicyTest, ServiceConfigRetriesUnavailableAlone) {
  const std::string config = RetryPolicy{}.ToServiceConfig();
  EXPECT_NE(config.find(R"("maxAttempts": 5)"), std::string::npos) << config;
  EXPECT_NE(config.find(R"("initialBackoff": "0.100s")"), std::string::npos);
  EXPECT_NE(config.find(R"("retryableStatusCodes": ["UNAVAILABLE"])"),
            std::string::npos);
}

TEST(FileLimitTest, RaisesToTheHardLimit) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(RaiseFileLimit().value(), before.rlim_max);
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
}

}  // namespace
}  // namespace epochd::net
