// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/client/api/fake_server.h"

namespace epochd::client {
namespace {

const grpc::Status kBroken(grpc::StatusCode::UNAVAILABLE, "gone");

class LogStreamTest : public testing::Test {
 protected:
  absl::StatusOr<v1::JobState> Read(int attempt = 0, LogOptions options = {}) {
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

TEST_F(LogStreamTest, DropsWhatWasThereBefore) {
  LogOptions options;
  options.after_attempt = 2;
  options.after_offset = 4;
  server_.jobs.rounds = {{{},
                          {Chunk(2, 2, "cdef"), Chunk(3, 0, "g"),
                           LastChunk(v1::JOB_STATE_SUCCEEDED)},
                          {}}};
  ASSERT_TRUE(Read(0, options).ok());
  EXPECT_EQ(text_, "efg");
  ASSERT_EQ(server_.jobs.log_requests.size(), 1u);
  EXPECT_EQ(server_.jobs.log_requests[0].tail_bytes(), 100);
  ASSERT_TRUE(Read(2, options).ok());
  EXPECT_EQ(server_.jobs.log_requests[1].tail_bytes(), 0);
  EXPECT_EQ(server_.jobs.log_requests[1].offset(), 4);
}

TEST_F(LogStreamTest, ReadsAllWhereATailLeavesAGap) {
  LogOptions options;
  options.after_attempt = 1;
  options.after_offset = 2;
  const v1::LogChunk last = LastChunk(v1::JOB_STATE_SUCCEEDED);
  const FakeJobs::Round whole = {
      {}, {Chunk(1, 0, "abcd"), Chunk(2, 0, "e"), last}, {}};
  server_.jobs.rounds = {{{}, {Chunk(1, 3, "d"), last}, {}},
                         whole,
                         {{}, {Chunk(2, 0, "e"), last}, {}},
                         whole};
  for (const size_t first : {size_t{0}, size_t{2}}) {
    text_.clear();
    ASSERT_TRUE(Read(0, options).ok());
    EXPECT_EQ(text_, "cde");
    EXPECT_EQ(server_.jobs.log_requests.at(first).tail_bytes(), 100);
    EXPECT_EQ(server_.jobs.log_requests.at(first + 1).tail_bytes(), 0);
  }
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
