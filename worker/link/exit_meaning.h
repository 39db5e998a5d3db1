// SPDX-License-Identifier: Apache-2.0
//
// From a wait status to what it means. The table:
//
//   oom flag                 kOutOfMemory
//   0                        kDone
//   70, any other code       kTrainingFailed
//   71                       kInfrastructure
//   73 of a trainer          kNoStorage
//   75                       kStoppedWithCheckpoint
//   76                       kSelfFenced
//   78                       kBadSpec
//   126, 127 of a command    kBadSpec: there is no such program
//   126, 127 of a trainer    kNotLoaded: the node lacks it, or a library of it
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
  kNotLoaded,
  kNoStorage,
};

// `is_command`: the rank ran the job's own program, not the trainer.
ExitMeaning MeaningOf(const ExitRecord& record, bool is_command);

// Such as "exit code 70 (training failed)", "killed by signal 9 (SIGKILL)".
std::string Describe(const ExitRecord& record, bool is_command);

}  // namespace epochd::link
