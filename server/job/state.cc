// SPDX-License-Identifier: Apache-2.0
#include "server/job/state.h"

#include <array>
#include <cstddef>

namespace epochd::job {
namespace {

constexpr std::array<std::string_view, 8> kJobStates = {
    "unspecified", "queued",    "starting", "running",
    "stopping",    "succeeded", "failed",   "cancelled"};
constexpr std::array<std::string_view, 20> kJobReasons = {
    "unspecified",        "submitted",       "no_workers",
    "no_free_devices",    "behind_others",   "unsatisfiable",
    "components_missing", "restart_backoff", "awaiting_certain_end",
    "assigned",           "training",        "worker_unreachable",
    "cancel_requested",   "time_limit",      "completed",
    "cancelled",          "bad_spec",        "training_failed",
    "restarts_exhausted", "not_restartable"};
constexpr std::array<std::string_view, 6> kAttemptStates = {
    "unspecified", "assigned", "starting", "running", "stopping", "ended"};
constexpr std::array<std::string_view, 12> kAttemptReasons = {
    "unspecified", "completed",       "cancelled",    "stopped_with_checkpoint",
    "bad_spec",    "training_failed", "rank_lost",    "worker_lost",
    "hang",        "oom_host",        "start_failed", "time_limit"};

template <typename Enum, size_t kSize>
std::string_view NameIn(const std::array<std::string_view, kSize>& names,
                        Enum value) {
  const auto index = static_cast<size_t>(value);
  return index < kSize ? names[index] : names[0];
}

template <typename Enum, size_t kSize>
const std::vector<Enum>& AllOf(const std::array<std::string_view, kSize>&) {
  static const auto& values = *[] {
    auto* all = new std::vector<Enum>;
    for (size_t i = 1; i < kSize; ++i) all->push_back(static_cast<Enum>(i));
    return all;
  }();
  return values;
}

}  // namespace

std::string_view Name(JobState state) { return NameIn(kJobStates, state); }
std::string_view Name(JobReason reason) { return NameIn(kJobReasons, reason); }
std::string_view Name(AttemptState state) {
  return NameIn(kAttemptStates, state);
}
std::string_view Name(AttemptReason reason) {
  return NameIn(kAttemptReasons, reason);
}

const std::vector<JobState>& AllJobStates() {
  return AllOf<JobState>(kJobStates);
}
const std::vector<JobReason>& AllJobReasons() {
  return AllOf<JobReason>(kJobReasons);
}
const std::vector<AttemptState>& AllAttemptStates() {
  return AllOf<AttemptState>(kAttemptStates);
}
const std::vector<AttemptReason>& AllAttemptReasons() {
  return AllOf<AttemptReason>(kAttemptReasons);
}

bool IsTerminal(JobState state) {
  return state == JobState::kSucceeded || state == JobState::kFailed ||
         state == JobState::kCancelled;
}

bool MayFollow(JobState from, JobState to) {
  using S = JobState;
  if (from == to) return from != S::kUnspecified && !IsTerminal(from);
  switch (from) {
    case S::kUnspecified:
      return to == S::kQueued;
    case S::kQueued:
      return to == S::kStarting || to == S::kCancelled || to == S::kFailed;
    case S::kStarting:
      return to == S::kRunning || to == S::kQueued || to == S::kStopping ||
             to == S::kSucceeded || to == S::kFailed;
    case S::kRunning:
      return to == S::kQueued || to == S::kStopping || to == S::kSucceeded ||
             to == S::kFailed;
    case S::kStopping:
      return IsTerminal(to);
    case S::kSucceeded:
    case S::kFailed:
    case S::kCancelled:
      return false;
  }
  return false;
}

bool MayFollow(AttemptState from, AttemptState to) {
  // The enum is in the machine's order.
  return from < to && to <= AttemptState::kEnded &&
         (from != AttemptState::kUnspecified || to == AttemptState::kAssigned);
}

bool Explains(JobReason reason, JobState state) {
  using R = JobReason;
  switch (state) {
    case JobState::kQueued:
      return reason >= R::kSubmitted && reason <= R::kAwaitingCertainEnd;
    case JobState::kStarting:
    case JobState::kRunning:
      return reason == R::kAssigned || reason == R::kTraining ||
             reason == R::kWorkerUnreachable ||
             reason == R::kAwaitingCertainEnd;
    case JobState::kStopping:
      return reason == R::kCancelRequested || reason == R::kTimeLimit;
    case JobState::kSucceeded:
      return reason == R::kCompleted;
    case JobState::kFailed:
      return reason == R::kBadSpec || reason == R::kTrainingFailed ||
             reason == R::kRestartsExhausted || reason == R::kNotRestartable ||
             reason == R::kTimeLimit;
    case JobState::kCancelled:
      return reason == R::kCancelled;
    case JobState::kUnspecified:
      return false;
  }
  return false;
}

}  // namespace epochd::job
