// SPDX-License-Identifier: Apache-2.0
#include "worker/link/exit_meaning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epochd::link {
namespace {

using ::testing::HasSubstr;

ExitRecord Code(int code) {
  ExitRecord record;
  record.exit_code = code;
  return record;
}

ExitRecord Signal(int number, bool oom = false) {
  ExitRecord record;
  record.term_signal = number;
  record.oom = oom;
  return record;
}

TEST(ExitMeaning, FollowsTheTable) {
  const struct {
    ExitRecord record;
    ExitMeaning meaning;
    const char* words;
    bool is_command = false;
  } kRows[] = {
      {Code(0), ExitMeaning::kDone, "exit code 0"},
      {Code(1), ExitMeaning::kTrainingFailed, "exit code 1 (training failed)"},
      {Code(70), ExitMeaning::kTrainingFailed, "exit code 70"},
      {Code(71), ExitMeaning::kInfrastructure, "went away"},
      {Code(73), ExitMeaning::kNoStorage, "nothing can be kept"},
      {Code(73), ExitMeaning::kTrainingFailed, "73", true},
      {Code(75), ExitMeaning::kStoppedWithCheckpoint, "with a checkpoint"},
      {Code(76), ExitMeaning::kSelfFenced, "lease"},
      {Code(78), ExitMeaning::kBadSpec, "as written"},
      {Code(126), ExitMeaning::kNotLoaded, "cannot load the trainer"},
      {Code(127), ExitMeaning::kNotLoaded, "exit code 127 (this node"},
      {Code(126), ExitMeaning::kBadSpec, "126", true},
      {Code(127), ExitMeaning::kBadSpec, "127 (the job cannot run", true},
      {Code(128), ExitMeaning::kTrainingFailed, "128"},
      {Code(137), ExitMeaning::kKilled, "signal 9 (SIGKILL)"},
      {Code(139), ExitMeaning::kKilled, "SIGSEGV"},
      {Code(255), ExitMeaning::kTrainingFailed, "255"},
      {Signal(9), ExitMeaning::kKilled, "killed by signal 9 (SIGKILL)"},
      {Signal(11), ExitMeaning::kKilled, "SIGSEGV"},
      {Signal(9, true), ExitMeaning::kOutOfMemory, "out of memory"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.words);
    EXPECT_EQ(MeaningOf(row.record, row.is_command), row.meaning);
    EXPECT_THAT(Describe(row.record, row.is_command), HasSubstr(row.words));
  }
}

TEST(ExitMeaning, OutOfMemoryIsBelievedBeforeAnExitCode) {
  ExitRecord record = Code(0);
  record.oom = true;
  EXPECT_EQ(MeaningOf(record, false), ExitMeaning::kOutOfMemory);
}

}  // namespace
}  // namespace epochd::link
