// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/client/api/fake_server.h"

namespace epochd::client {
namespace {

const grpc::Status kBroken(grpc::StatusCode::UNAVAILABLE, "gone");

class LogStreamTest : public testing::Test {
 protected:
  absl::StatusOr<v1::JobState> Read(int attempt = 0) {
    LogOptions options;
    options.attempt = attempt;
    options.tail_bytes = 100;
    options.follow = true;
    options.stream = Fast();
    return client_.ReadLogs("jobs/a", options, [this](const v1::LogChunk& c) {
      text_ += c.data();
      return true;
    });
  }

  FakeServer server_;
  Client client_ = server_.MakeClient();
  std::string text_;
};

TEST_F(LogStreamTest, GoesOnAfterABreakWithoutGapOrDouble) {
  server_.jobs.rounds = {
      {{}, {Chunk(1, 0, "one "), Chunk(1, 4, "two ")}, kBroken},
      {{},
       {Chunk(1, 0, "one "), Chunk(1, 4, "two three "), Chunk(2, 0, "four")},
       kBroken},
      {{},
       {Chunk(1, 0, "one two three "), Chunk(2, 0, "four"), Chunk(2, 4, "."),
        LastChunk(v1::JOB_STATE_FAILED)},
       {}}};
  const auto state = Read();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(*state, v1::JOB_STATE_FAILED);
  EXPECT_EQ(text_, "one two three four.");
  EXPECT_EQ(server_.jobs.log_requests[0].tail_bytes(), 100);
  EXPECT_EQ(server_.jobs.log_requests[1].tail_bytes(), 0);
}

TEST_F(LogStreamTest, AsksForTheOffsetWhereOneAttemptIsRead) {
  server_.jobs.rounds = {
      {{}, {Chunk(3, 10, "abc")}, kBroken},
      {{}, {Chunk(3, 13, "def"), LastChunk(v1::JOB_STATE_SUCCEEDED)}, {}}};
  const auto state = Read(3);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(text_, "abcdef");
  EXPECT_EQ(server_.jobs.log_requests[1].attempt(), 3);
  EXPECT_EQ(server_.jobs.log_requests[1].offset(), 13);
}

TEST_F(LogStreamTest, TakesAnEndWithoutItsMarkForABreak) {
  server_.jobs.rounds = {
      {{}, {Chunk(1, 0, "abc")}, {}},
      {{}, {Chunk(1, 0, "abcd"), LastChunk(v1::JOB_STATE_SUCCEEDED)}, {}}};
  const auto state = Read();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(text_, "abcd");
}

TEST_F(LogStreamTest, KeepsBytesThatAreNoText) {
  const std::string bytes("\x80\x00\xff\xe2\x82", 5);
  server_.jobs.rounds = {
      {{}, {Chunk(1, 0, bytes), LastChunk(v1::JOB_STATE_SUCCEEDED)}, {}}};
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(text_, bytes);
}

TEST_F(LogStreamTest, EndsAtOnceWhereAnotherTryIsOfNoUse) {
  server_.jobs.rounds = {
      {{}, {}, {grpc::StatusCode::INVALID_ARGUMENT, "no rank 9"}}};
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace epochd::client
