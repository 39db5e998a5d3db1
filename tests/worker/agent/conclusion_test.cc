// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/conclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace epochd::agent {
namespace {

using ::testing::HasSubstr;

EndedRank Code(int rank, int code, int64_t end, bool stopped = false) {
  EndedRank ended{.rank = rank, .exit = {}};
  ended.exit.exit_code = code;
  ended.exit.end_ns = end;
  ended.exit.stopped = stopped;
  return ended;
}

EndedRank Signal(int rank, int number, int64_t end, bool stopped = false,
                 bool oom = false) {
  EndedRank ended{.rank = rank, .exit = {}};
  ended.exit.term_signal = number;
  ended.exit.end_ns = end;
  ended.exit.stopped = stopped;
  ended.exit.oom = oom;
  return ended;
}

TEST(Conclusion, FollowsHowRanksEnded) {
  constexpr auto kNone = AttemptReason::kUnspecified;
  const struct {
    const char* what;
    ConclusionInput input;
    AttemptReason reason;
    int rank;
  } kRows[] = {
      {"all done",
       {.ended = {Code(0, 0, 1), Code(1, 0, 2)}},
       AttemptReason::kCompleted,
       -1},
      {"training failed",
       {.ended = {Code(0, 70, 1)}},
       AttemptReason::kTrainingFailed,
       0},
      {"any other code",
       {.ended = {Code(0, 1, 1)}},
       AttemptReason::kTrainingFailed,
       0},
      {"bad spec", {.ended = {Code(0, 78, 1)}}, AttemptReason::kBadSpec, 0},
      {"the node cannot load the trainer, and the others lose a peer",
       {.ended = {Code(0, 71, 1), Code(1, 127, 2)}},
       AttemptReason::kStartFailed,
       1},
      {"nothing can be kept where rank 0 is, and the others lose a peer",
       {.ended = {Code(1, 71, 1), Code(0, 73, 2)}},
       AttemptReason::kStartFailed,
       0},
      {"the command names no program",
       {.ended = {Code(0, 127, 1)}, .is_command = true},
       AttemptReason::kBadSpec,
       0},
      {"out of memory, though it says 0",
       {.ended = {[] {
          EndedRank ended = Code(0, 0, 1);
          ended.exit.oom = true;
          return ended;
        }()}},
       AttemptReason::kOomHost,
       0},
      {"lost peers alone",
       {.ended = {Code(0, 71, 1)}},
       AttemptReason::kRankLost,
       0},
      {"fenced by itself",
       {.ended = {Code(0, 76, 1)}},
       AttemptReason::kWorkerLost,
       0},
      {"killed",
       {.ended = {Signal(0, SIGKILL, 1)}},
       AttemptReason::kRankLost,
       0},
      {"crashed",
       {.ended = {Signal(0, SIGSEGV, 1)}},
       AttemptReason::kRankLost,
       0},
      {"out of memory",
       {.ended = {Signal(0, SIGKILL, 1, false, true)}},
       AttemptReason::kOomHost,
       0},
      {"out of memory while stopping",
       {.ended = {Signal(0, SIGKILL, 1, true, true)},
        .stop_reason = AttemptReason::kCancelled},
       AttemptReason::kOomHost,
       0},
      {"the first to fail is to blame",
       {.ended = {Code(0, 70, 20), Signal(1, SIGSEGV, 10)}},
       AttemptReason::kRankLost,
       1},
      {"who lost peers is not",
       {.ended = {Code(0, 71, 10), Code(1, 70, 20)}},
       AttemptReason::kTrainingFailed,
       1},
      {"who was stopped is not",
       {.ended = {Signal(0, SIGKILL, 10, true), Code(1, 78, 20)}},
       AttemptReason::kBadSpec,
       1},
      {"one done, one killed",
       {.ended = {Code(0, 0, 1), Signal(1, SIGKILL, 2)}},
       AttemptReason::kRankLost,
       1},
      {"cancelled",
       {.ended = {Code(0, 75, 1, true)},
        .stop_reason = AttemptReason::kCancelled},
       AttemptReason::kCancelled,
       -1},
      {"cancelled, killed after the grace",
       {.ended = {Signal(0, SIGKILL, 1, true)},
        .stop_reason = AttemptReason::kCancelled},
       AttemptReason::kCancelled,
       -1},
      {"done before the wish to cancel came",
       {.ended = {Code(0, 0, 1, true)},
        .stop_reason = AttemptReason::kCancelled},
       AttemptReason::kCompleted,
       -1},
      {"a command may say 0 when it is stopped",
       {.ended = {Code(0, 0, 1, true)},
        .is_command = true,
        .stop_reason = AttemptReason::kCancelled},
       AttemptReason::kCancelled,
       -1},
      {"time limit",
       {.ended = {Code(0, 75, 1, true)},
        .stop_reason = AttemptReason::kTimeLimit},
       AttemptReason::kTimeLimit,
       -1},
      {"agent stops, all saved",
       {.ended = {Code(0, 75, 1, true), Code(1, 75, 2, true)}},
       AttemptReason::kStoppedWithCheckpoint,
       -1},
      {"agent stops, one did not save",
       {.ended = {Code(0, 75, 1, true), Signal(1, SIGKILL, 2, true)}},
       AttemptReason::kWorkerLost,
       -1},
      {"agent stops a command",
       {.ended = {Signal(0, SIGTERM, 1, true)}, .is_command = true},
       AttemptReason::kWorkerLost,
       -1},
      {"a command that says 75 unasked",
       {.ended = {Code(0, 75, 1)}, .is_command = true},
       AttemptReason::kRankLost,
       0},
      {"stopped from outside",
       {.ended = {Code(0, 75, 1)}},
       AttemptReason::kStoppedWithCheckpoint,
       0},
      {"fenced by the agent",
       {.ended = {Signal(0, SIGKILL, 1, true)},
        .stop_reason = kNone,
        .fenced = true},
       AttemptReason::kWorkerLost,
       -1},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.what);
    const Conclusion conclusion = Conclude(row.input);
    EXPECT_EQ(conclusion.reason, row.reason);
    EXPECT_EQ(conclusion.rank, row.rank);
    EXPECT_EQ(conclusion.how.empty(), row.rank < 0);
  }
}

TEST(Conclusion, TellsWhetherTheFirstToFailWasElsewhere) {
  EXPECT_TRUE(FindCause({.ended = {Code(0, 71, 1)}}).lost_peers);
  EXPECT_FALSE(
      FindCause({.ended = {Code(0, 71, 1), Signal(1, SIGKILL, 2)}}).lost_peers);
  EXPECT_FALSE(FindCause({.ended = {Code(0, 70, 1)}}).lost_peers);
}

TEST(Conclusion, ThereIsNoCauseWhileAllIsWell) {
  EXPECT_EQ(FindCause({.ended = {Code(0, 0, 1)}}).reason,
            AttemptReason::kUnspecified);
  EXPECT_EQ(FindCause({}).rank, -1);
  EXPECT_THAT(FindCause({.ended = {Signal(2, SIGABRT, 1)}}).how,
              HasSubstr("SIGABRT"));
}

}  // namespace
}  // namespace epochd::agent
