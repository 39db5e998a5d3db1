// SPDX-License-Identifier: Apache-2.0
//
// From a wait status to what it means. The table:
//
//   oom flag                 kOutOfMemory
//   0                        kDone
//   70, any other code       kTrainingFailed
//   71                       kInfrastructure
//   75                       kStoppedWithCheckpoint
//   76                       kSelfFenced
//   78, 126, 127             kBadSpec (the last two: no such program)
//   129..159, any signal     kKilled (a shell tells of signals by 128 + n)
#pragma once

#include <string>

#include "worker/link/attempt_folder.h"

namespace epochd::link {

enum class ExitMeaning {
  kDone,
  kStoppedWithCheckpoint,
  kBadSpec,
  kTrainingFailed,
  kInfrastructure,
  kSelfFenced,
  kOutOfMemory,
  kKilled,
};

ExitMeaning MeaningOf(const ExitRecord& record);

// Such as "exit code 70 (training failed)", "killed by signal 9 (SIGKILL)".
std::string Describe(const ExitRecord& record);

}  // namespace epochd::link
