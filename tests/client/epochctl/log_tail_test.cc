// SPDX-License-Identifier: Apache-2.0
#include "client/epochctl/log_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "client/epochctl/exit_code.h"
#include "tests/client/epochctl/coordinator.h"

namespace epochd::epochctl {
namespace {

using client::Chunk;
using client::LastChunk;

TEST(LogTail, FindsWhereTheLastLinesBegin) {
  struct Case {
    const char* text;
    int num_lines;
    std::optional<size_t> start;
  };
  for (const Case& c : {
           Case{"a\nb\nc\n", 1, 4},
           Case{"a\nb\nc\n", 2, 2},
           Case{"a\nb\nc", 2, 2},
           Case{"a\n\n", 1, 2},
           Case{"a\n\n\n", 2, 2},
           Case{"a\nb\nc\n", 0, 6},
           Case{"", 0, 0},
           // What is before may belong to the first of them.
           Case{"a\nb\nc\n", 3, std::nullopt},
           Case{"\nb\n", 2, std::nullopt},
           Case{"a", 1, std::nullopt},
           Case{"", 1, std::nullopt},
       }) {
    EXPECT_EQ(StartOfLastLines(c.text, c.num_lines), c.start)
        << testing::PrintToString(c.text) << " " << c.num_lines;
  }
}

class LogTailTest : public CoordinatorTest {
 protected:
  const std::vector<v1::ReadLogsRequest>& requests() const {
    return server_.jobs.log_requests;
  }
};

TEST_F(LogTailTest, PrintsSoManyLines) {
  server_.jobs.rounds = {{{},
                          {Chunk(1, 0, "one\ntw"), Chunk(1, 6, "o\nthree\n"),
                           LastChunk(v1::JOB_STATE_RUNNING)},
                          {}}};
  const struct {
    const char* num_lines;
    const char* printed;
  } kRows[] = {{"0", ""},
               {"1", "three\n"},
               {"2", "two\nthree\n"},
               {"3", "one\ntwo\nthree\n"},
               {"9", "one\ntwo\nthree\n"},
               {"-1", "one\ntwo\nthree\n"}};
  for (const auto& row : kRows) {
    EXPECT_EQ(Run({"logs", "a1", "--tail", row.num_lines}), kOk) << err();
    EXPECT_EQ(out(), row.printed) << row.num_lines;
    EXPECT_EQ(err(), "");
  }
}

TEST_F(LogTailTest, AsksForMoreUntilTheLinesAreThere) {
  server_.jobs.rounds = {
      {{}, {Chunk(2, 900, "e\nlast\n"), LastChunk(v1::JOB_STATE_RUNNING)}, {}},
      {{},
       {Chunk(2, 100, "t\nlong line\nlast\n"),
        LastChunk(v1::JOB_STATE_RUNNING)},
       {}}};
  EXPECT_EQ(Run({"logs", "a1", "--tail", "2"}), kOk) << err();
  EXPECT_EQ(out(), "long line\nlast\n");
  ASSERT_EQ(requests().size(), 2u);
  EXPECT_LT(requests()[0].tail_bytes(), requests()[1].tail_bytes());
}

TEST_F(LogTailTest, FollowsFromTheLastLinesOn) {
  v1::LogChunk cut = Chunk(2, 0, "d\n");
  cut.set_truncated(true);
  server_.jobs.rounds = {
      {{}, {Chunk(1, 0, "a\nb\n"), LastChunk(v1::JOB_STATE_RUNNING)}, {}},
      {{},
       {Chunk(1, 2, "b\nc\n"), cut, LastChunk(v1::JOB_STATE_SUCCEEDED)},
       {}}};
  EXPECT_EQ(Run({"logs", "-f", "a1", "--tail", "1"}), kOk) << err();
  EXPECT_EQ(out(), "b\nc\nd\n");
  EXPECT_EQ(err(),
            "--- attempt 2 ---\nwarning: the log was cut at its size limit\n");
  ASSERT_EQ(requests().size(), 2u);
  EXPECT_FALSE(requests()[0].follow());
  EXPECT_TRUE(requests()[1].follow());
}

TEST_F(LogTailTest, FollowsAllOfALogThatIsStillEmpty) {
  server_.jobs.rounds = {
      {{}, {LastChunk(v1::JOB_STATE_QUEUED)}, {}},
      {{}, {Chunk(1, 0, "a\nb\n"), LastChunk(v1::JOB_STATE_SUCCEEDED)}, {}}};
  EXPECT_EQ(Run({"logs", "-f", "a1", "--tail", "1"}), kOk) << err();
  EXPECT_EQ(out(), "a\nb\n");
  EXPECT_EQ(requests()[1].tail_bytes(), 0);
}

TEST_F(LogTailTest, DoesNotFollowAJobThatIsOver) {
  EndsWith(v1::JOB_STATE_FAILED);
  EXPECT_EQ(Run({"logs", "-f", "a1", "--tail", "1"}), kJobFailed);
  EXPECT_EQ(out(), "last line\n");
  EXPECT_EQ(requests().size(), 1u);
}

}  // namespace
}  // namespace epochd::epochctl
