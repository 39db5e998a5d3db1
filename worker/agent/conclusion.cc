// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/conclusion.h"

#include <algorithm>

#include "worker/link/exit_code.h"
#include "worker/link/exit_meaning.h"

namespace epochd::agent {
namespace {

using link::ExitMeaning;

AttemptReason ReasonOf(ExitMeaning meaning) {
  switch (meaning) {
    case ExitMeaning::kDone:
      return AttemptReason::kCompleted;
    case ExitMeaning::kStoppedWithCheckpoint:
      return AttemptReason::kStoppedWithCheckpoint;
    case ExitMeaning::kBadSpec:
      return AttemptReason::kBadSpec;
    case ExitMeaning::kTrainingFailed:
      return AttemptReason::kTrainingFailed;
    case ExitMeaning::kInfrastructure:
    case ExitMeaning::kKilled:
      return AttemptReason::kRankLost;
    case ExitMeaning::kNotLoaded:
    case ExitMeaning::kNoStorage:
      return AttemptReason::kStartFailed;
    case ExitMeaning::kSelfFenced:
      return AttemptReason::kWorkerLost;
    case ExitMeaning::kOutOfMemory:
      return AttemptReason::kOomHost;
  }
  return AttemptReason::kRankLost;
}

// Asked to end, it ended: not to blame, unless it ran out of memory.
bool IsBlameless(const link::ExitRecord& exit) {
  return !exit.oom && (exit.stopped || exit.exit_code == link::kDone);
}

// It lost its peers, so another may have failed first.
bool Follows(const link::ExitRecord& exit) {
  return !exit.oom && exit.exit_code == link::kInfrastructure;
}

bool IsEarlierCause(const EndedRank& a, const EndedRank& b) {
  if (Follows(a.exit) != Follows(b.exit)) return Follows(b.exit);
  return a.exit.end_ns < b.exit.end_ns;
}

}  // namespace

Conclusion FindCause(const ConclusionInput& input) {
  const EndedRank* cause = nullptr;
  for (const EndedRank& rank : input.ended) {
    if (IsBlameless(rank.exit)) continue;
    if (cause == nullptr || IsEarlierCause(rank, *cause)) cause = &rank;
  }
  if (cause == nullptr) return {};
  AttemptReason reason =
      ReasonOf(link::MeaningOf(cause->exit, input.is_command));
  // Nobody asked the command to stop, so it may well do so each time: counts as
  // a restart, else it would be started for ever.
  if (input.is_command && reason == AttemptReason::kStoppedWithCheckpoint) {
    reason = AttemptReason::kRankLost;
  }
  return {.reason = reason,
          .rank = cause->rank,
          .how = link::Describe(cause->exit, input.is_command),
          .lost_peers = Follows(cause->exit)};
}

Conclusion Conclude(const ConclusionInput& input) {
  if (input.fenced) return {.reason = AttemptReason::kWorkerLost};
  if (Conclusion cause = FindCause(input);
      cause.reason != AttemptReason::kUnspecified) {
    return cause;
  }
  if (input.ended.empty()) {
    return {.reason = input.stop_reason != AttemptReason::kUnspecified
                          ? input.stop_reason
                          : AttemptReason::kRankLost};
  }
  const auto every = [&](auto&& holds) {
    return std::all_of(input.ended.begin(), input.ended.end(), holds);
  };
  // A command that was asked to stop may well say 0.
  if (every([&](const EndedRank& rank) {
        return rank.exit.exit_code == link::kDone &&
               !(input.is_command && rank.exit.stopped);
      })) {
    return {.reason = AttemptReason::kCompleted};
  }
  if (input.stop_reason != AttemptReason::kUnspecified) {
    return {.reason = input.stop_reason};
  }
  const bool all_saved = every([](const EndedRank& rank) {
    return rank.exit.exit_code == link::kStoppedWithCheckpoint ||
           rank.exit.exit_code == link::kDone;
  });
  return {.reason = all_saved && !input.is_command
                        ? AttemptReason::kStoppedWithCheckpoint
                        : AttemptReason::kWorkerLost};
}

}  // namespace epochd::agent
