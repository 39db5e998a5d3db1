// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stop_token>
#include <vector>

#include "tests/client/api/fake_server.h"

namespace epochd::client {
namespace {

using ::testing::ElementsAre;

const grpc::Status kBroken(grpc::StatusCode::UNAVAILABLE, "gone");

class EventStreamTest : public testing::Test {
 protected:
  absl::Status Watch(int64_t after = 0) {
    WatchOptions options;
    options.after = after;
    options.stream = Fast();
    options.stream.give_up_after = give_up_after_;
    options.stream.on_retry = [this](const absl::Status&) { ++num_retries_; };
    return client_.WatchEvents("jobs/a", options, [this](const v1::Event& e) {
      seen_.push_back(e.sequence());
      return true;
    });
  }

  FakeServer server_;
  Client client_ = server_.MakeClient();
  std::vector<int64_t> seen_;
  int num_retries_ = 0;
  absl::Duration give_up_after_ = absl::Minutes(1);
};

TEST_F(EventStreamTest, GoesOnAfterABreakWithoutGapOrDouble) {
  server_.jobs.rounds = {
      {{Numbered(1), Numbered(2)}, {}, kBroken},
      {{}, {}, kBroken},
      // A server that begins too early again.
      {{Numbered(2), Numbered(3)}, {}, kBroken},
      {{Numbered(4), Ended(5, v1::JOB_STATE_SUCCEEDED)}, {}, {}}};
  EXPECT_EQ(Watch(), absl::OkStatus());
  EXPECT_THAT(seen_, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(server_.jobs.afters, ElementsAre(0, 2, 2, 3));
  // gRPC itself tries again what broke before its first message.
  EXPECT_EQ(num_retries_, 2);
}

TEST_F(EventStreamTest, OpensTheStreamAnewAtAGap) {
  server_.jobs.rounds = {
      {{Numbered(1), Numbered(3)}, {}, {}},
      {{Numbered(2), Ended(3, v1::JOB_STATE_FAILED)}, {}, {}}};
  EXPECT_EQ(Watch(), absl::OkStatus());
  EXPECT_THAT(seen_, ElementsAre(1, 2, 3));
  EXPECT_THAT(server_.jobs.afters, ElementsAre(0, 1));
}

TEST_F(EventStreamTest, PassesProgressThatHasNoNumber) {
  v1::Event progress;
  progress.mutable_progress()->set_batch(3);
  server_.jobs.rounds = {
      {{Numbered(1), progress, progress, Ended(2, v1::JOB_STATE_CANCELLED)},
       {},
       {}}};
  EXPECT_EQ(Watch(), absl::OkStatus());
  EXPECT_THAT(seen_, ElementsAre(1, 0, 0, 2));
}

TEST_F(EventStreamTest, TakesAQuietEndForABreakUnlessTheJobIsFinished) {
  server_.jobs.job.set_name("jobs/a");
  server_.jobs.job.set_state(v1::JOB_STATE_RUNNING);
  server_.jobs.rounds = {{{Numbered(1)}, {}, {}},
                         {{Ended(2, v1::JOB_STATE_SUCCEEDED)}, {}, {}}};
  EXPECT_EQ(Watch(), absl::OkStatus());
  EXPECT_THAT(seen_, ElementsAre(1, 2));

  server_.jobs.job.set_state(v1::JOB_STATE_SUCCEEDED);
  server_.jobs.job.set_last_sequence(2);
  server_.jobs.rounds = {{{}, {}, {}}};
  EXPECT_EQ(Watch(2), absl::OkStatus());
}

TEST_F(EventStreamTest, EndsAtOnceWhereAnotherTryIsOfNoUse) {
  server_.jobs.rounds = {{{}, {}, {grpc::StatusCode::NOT_FOUND, "no job a"}}};
  EXPECT_EQ(Watch().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(num_retries_, 0);
}

TEST_F(EventStreamTest, GivesUpWithTheFailureAfterItsTime) {
  give_up_after_ = absl::Milliseconds(20);
  server_.jobs.rounds = {{{}, {}, kBroken}};
  const absl::Status status = Watch();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_GT(num_retries_, 0);
}

TEST_F(EventStreamTest, EndsWhenStoppedWhileItWaits) {
  server_.jobs.rounds = {{{}, {}, kBroken}};
  std::stop_source stop;
  WatchOptions options;
  options.stream.retry.initial_backoff = absl::Hours(1);
  options.stream.retry.max_backoff = absl::Hours(1);
  options.stream.stop = stop.get_token();
  options.stream.on_retry = [&stop](const absl::Status&) {
    stop.request_stop();
  };
  EXPECT_EQ(
      client_
          .WatchEvents("jobs/a", options, [](const v1::Event&) { return true; })
          .code(),
      absl::StatusCode::kCancelled);
}

TEST_F(EventStreamTest, EndsWhenTheReaderHasEnough) {
  server_.jobs.rounds = {{{Numbered(1), Numbered(2)}, {}, kBroken}};
  std::vector<int64_t> seen;
  EXPECT_EQ(client_
                .WatchEvents("jobs/a", {},
                             [&seen](const v1::Event& event) {
                               seen.push_back(event.sequence());
                               return false;
                             })
                .code(),
            absl::StatusCode::kCancelled);
  EXPECT_THAT(seen, ElementsAre(1));
}

}  // namespace
}  // namespace epochd::client
