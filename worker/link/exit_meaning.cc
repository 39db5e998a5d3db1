// SPDX-License-Identifier: Apache-2.0
#include "worker/link/exit_meaning.h"

#include <cstring>

#include "worker/link/exit_code.h"

namespace epochd::link {
namespace {

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return "signal " + std::to_string(signal) +
         (name != nullptr ? " (SIG" + std::string(name) + ")" : "");
}

const char* Words(ExitMeaning meaning) {
  switch (meaning) {
    case ExitMeaning::kDone:
      return "done";
    case ExitMeaning::kStoppedWithCheckpoint:
      return "stopped with a checkpoint";
    case ExitMeaning::kBadSpec:
      return "the job cannot run as written";
    case ExitMeaning::kTrainingFailed:
      return "training failed";
    case ExitMeaning::kInfrastructure:
      return "peers, storage or device went away";
    case ExitMeaning::kSelfFenced:
      return "its lease ended";
    case ExitMeaning::kOutOfMemory:
      return "out of memory";
    case ExitMeaning::kKilled:
      return "killed";
    case ExitMeaning::kNotLoaded:
      return "this node cannot load the trainer";
    case ExitMeaning::kNoStorage:
      return "nothing can be kept in its storage";
  }
  return "unknown";
}

}  // namespace

ExitMeaning MeaningOf(const ExitRecord& record, bool is_command) {
  if (record.oom) return ExitMeaning::kOutOfMemory;
  if (!record.exit_code) return ExitMeaning::kKilled;
  const int code = *record.exit_code;
  switch (code) {
    case kDone:
      return ExitMeaning::kDone;
    case kInfrastructure:
      return ExitMeaning::kInfrastructure;
    case kNoStorage:
      return is_command ? ExitMeaning::kTrainingFailed
                        : ExitMeaning::kNoStorage;
    case kStoppedWithCheckpoint:
      return ExitMeaning::kStoppedWithCheckpoint;
    case kSelfFenced:
      return ExitMeaning::kSelfFenced;
    case kBadSpec:
      return ExitMeaning::kBadSpec;
    case 126:
    case 127:
      return is_command ? ExitMeaning::kBadSpec : ExitMeaning::kNotLoaded;
    default:
      return code > 128 && code < 160 ? ExitMeaning::kKilled
                                      : ExitMeaning::kTrainingFailed;
  }
}

std::string Describe(const ExitRecord& record, bool is_command) {
  const ExitMeaning meaning = MeaningOf(record, is_command);
  std::string text;
  if (record.exit_code) {
    const int code = *record.exit_code;
    text = "exit code " + std::to_string(code);
    if (meaning == ExitMeaning::kKilled) {
      return text + " (" + SignalName(code - 128) + ")";
    }
    return text + " (" + Words(meaning) + ")";
  }
  text = "killed by " + SignalName(record.term_signal.value_or(0));
  if (record.oom) text += ", out of memory";
  return text;
}

}  // namespace epochd::link
