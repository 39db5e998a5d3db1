// SPDX-License-Identifier: Apache-2.0
#include "client/api/reconnect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/wire/status.h"

namespace epochd::client {
namespace {

class ReconnectTest : public testing::Test {
 protected:
  ReconnectTest() {
    options_.retry.initial_backoff = absl::Microseconds(1);
    options_.retry.max_backoff = absl::Microseconds(2);
    options_.stop = stop_.get_token();
    options_.on_retry = [this](const absl::Status& status) {
      told_.emplace_back(status.message());
    };
  }

  std::stop_source stop_;
  StreamOptions options_;
  std::vector<std::string> told_;
};

TEST_F(ReconnectTest, TriesAgainAfterWhatABrokenConnectionGives) {
  Reconnect reconnect(options_);
  EXPECT_TRUE(reconnect.Failed(absl::UnavailableError("a")).ok());
  EXPECT_TRUE(reconnect.Failed(absl::DeadlineExceededError("b")).ok());
  EXPECT_TRUE(reconnect.Failed(absl::DataLossError("c")).ok());
  EXPECT_THAT(told_, testing::ElementsAre("a", "b", "c"));
}

TEST_F(ReconnectTest, TriesAgainWhereTheServerSaidWhenItHasRoom) {
  Reconnect reconnect(options_);
  const absl::Status full = absl::ResourceExhaustedError("full");
  EXPECT_TRUE(
      reconnect.Failed(wire::WithRetryDelay(full, absl::Milliseconds(1))).ok());
  // Such as a message that is larger than this side takes.
  EXPECT_EQ(reconnect.Failed(full), full);
}

TEST_F(ReconnectTest, EndsWithWhatAnotherTryWouldNotChange) {
  Reconnect reconnect(options_);
  for (const absl::Status& status :
       {absl::NotFoundError("x"), absl::UnauthenticatedError("x"),
        absl::PermissionDeniedError("x"), absl::InvalidArgumentError("x"),
        absl::InternalError("x"), absl::UnimplementedError("x")}) {
    EXPECT_EQ(reconnect.Failed(status), status);
  }
  EXPECT_TRUE(told_.empty());
}

TEST_F(ReconnectTest, GivesUpOnceFailuresGoOnTooLong) {
  options_.give_up_after = absl::ZeroDuration();
  Reconnect reconnect(options_);
  absl::Status status;
  // The first failure begins the time.
  while (status.ok()) status = reconnect.Failed(absl::UnavailableError("gone"));
  EXPECT_EQ(status.message(), "gone");
  EXPECT_GE(told_.size(), 1u);
}

TEST_F(ReconnectTest, CountsAnewAfterASuccess) {
  options_.give_up_after = absl::Minutes(5);
  Reconnect reconnect(options_);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(reconnect.Failed(absl::UnavailableError("a")).ok());
    reconnect.Succeeded();
  }
  EXPECT_EQ(told_.size(), 50u);
}

TEST_F(ReconnectTest, DoesNotWaitOnceStopped) {
  options_.retry.initial_backoff = absl::Hours(1);
  options_.retry.max_backoff = absl::Hours(1);
  Reconnect reconnect(options_);
  stop_.request_stop();
  EXPECT_TRUE(absl::IsCancelled(reconnect.Failed(absl::UnavailableError("a"))));
  EXPECT_TRUE(told_.empty());
}

}  // namespace
}  // namespace epochd::client
