// SPDX-License-Identifier: Apache-2.0
#include "server/job/restart.h"

#include <algorithm>

#include "fmt/format.h"

namespace epochd::job {
namespace {

constexpr absl::Duration kLongestBackoff = absl::Minutes(1);

std::string Told(const Job& job, AttemptReason reason,
                 const std::string& message) {
  std::string text = fmt::format("attempt {} ended: {}",
                                 job.CurrentAttempt().value(), Name(reason));
  if (!message.empty()) text += fmt::format(" ({})", message);
  return text;
}

// Attempts in a row, the last being the newest that ended, that could not be
// started.
int NumFailedStarts(const Job& job) {
  int num_failed = 0;
  for (auto it = job.attempts.rbegin(); it != job.attempts.rend(); ++it) {
    if (it->state != AttemptState::kEnded) continue;
    if (it->reason != AttemptReason::kStartFailed) break;
    ++num_failed;
  }
  return num_failed;
}

// Attempts in a row, the newest included, that ended for a reason that counts
// and of which none but the first got as far as a checkpoint.
int NumFruitless(const Job& job) {
  const AttemptNumber fruitful = job.checkpoints.empty()
                                     ? AttemptNumber()
                                     : job.checkpoints.back().attempt;
  int num_fruitless = 0;
  for (auto it = job.attempts.rbegin(); it != job.attempts.rend(); ++it) {
    if (it->state != AttemptState::kEnded ||
        Restarts(job.spec->restart, it->reason)) {
      ++num_fruitless;
    }
    if (it->number <= fruitful) break;
  }
  return num_fruitless;
}

EndDecision Failed(JobReason reason, std::string message) {
  return {JobState::kFailed, reason, std::move(message), false};
}

}  // namespace

absl::Duration Backoff(const RestartPolicy& policy, int num_in_a_row) {
  if (num_in_a_row <= 0) return absl::ZeroDuration();
  absl::Duration backoff = std::max(policy.backoff, absl::ZeroDuration());
  for (int i = 1; i < num_in_a_row && backoff < kLongestBackoff; ++i) {
    backoff *= 2;
  }
  return std::min(backoff, kLongestBackoff);
}

absl::Duration BackoffOf(const Job& job) {
  if (job.attempts.empty()) return absl::ZeroDuration();
  const RestartPolicy& policy = job.spec->restart;
  const AttemptReason reason = job.attempts.back().reason;
  if (Restarts(policy, reason)) return Backoff(policy, NumFruitless(job));
  return reason == AttemptReason::kStartFailed
             ? Backoff(policy, NumFailedStarts(job))
             : absl::ZeroDuration();
}

bool Restarts(const RestartPolicy& policy, AttemptReason reason) {
  const auto& reasons =
      policy.reasons.empty() ? DefaultRestartReasons() : policy.reasons;
  return std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
}

EndDecision DecideEnd(const Job& job, AttemptReason reason,
                      const std::string& message) {
  const std::string told = Told(job, reason, message);
  if (reason == AttemptReason::kCompleted) {
    return {JobState::kSucceeded, JobReason::kCompleted, "", false};
  }
  if (job.state == JobState::kStopping) {
    if (job.reason == JobReason::kTimeLimit) {
      return Failed(JobReason::kTimeLimit,
                    fmt::format("limits.max_time of {} was reached",
                                absl::FormatDuration(job.spec->max_time)));
    }
    return {JobState::kCancelled, JobReason::kCancelled, "", false};
  }
  const RestartPolicy& policy = job.spec->restart;
  if (Restarts(policy, reason)) {
    if (job.num_restarts >= policy.max) {
      return Failed(
          JobReason::kRestartsExhausted,
          fmt::format("{}; restart.max of {} was used up", told, policy.max));
    }
    const int next = job.num_restarts + 1;
    return {
        JobState::kQueued, JobReason::kRestartBackoff,
        fmt::format("{}; restart {} of {} in {}", told, next, policy.max,
                    absl::FormatDuration(Backoff(policy, NumFruitless(job)))),
        true};
  }
  switch (reason) {
    case AttemptReason::kStartFailed: {
      const int next = NumFailedStarts(job) + 1;
      if (next > kMaxStartRetries) {
        return Failed(JobReason::kNotRestartable,
                      fmt::format("{}; that was the {}th start in a row that "
                                  "failed",
                                  told, next));
      }
      return {JobState::kQueued, JobReason::kRestartBackoff,
              fmt::format("{}; it is started again in {}, which does not count "
                          "as a restart ({} of {})",
                          told, absl::FormatDuration(Backoff(policy, next)),
                          next, kMaxStartRetries),
              false};
    }
    case AttemptReason::kStoppedWithCheckpoint:
      return {JobState::kQueued, JobReason::kRestartBackoff,
              fmt::format("{}; it goes on from its checkpoint", told), false};
    case AttemptReason::kBadSpec:
      return Failed(JobReason::kBadSpec, message);
    case AttemptReason::kTrainingFailed:
      return Failed(JobReason::kTrainingFailed, message);
    default:
      return Failed(JobReason::kNotRestartable, told);
  }
}

}  // namespace epochd::job
