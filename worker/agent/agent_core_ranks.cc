// SPDX-License-Identifier: Apache-2.0
//
// Edges 4, 5 and 7 of agent_core.h: looks at ranks, ends those that are to be
// ended, and finds why an attempt ended.
#include <spdlog/spdlog.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "worker/agent/agent_core.h"
#include "worker/agent/conclusion.h"
#include "worker/agent/last_words.h"
#include "worker/link/attempt_folder.h"
#include "worker/link/command.h"

namespace epochd::agent {
namespace {

using process::RankStatus;

// Between looks at a keeper that is just coming up.
constexpr absl::Duration kComingUp = absl::Seconds(1);

}  // namespace

void AgentCore::Look(Attempt& attempt, absl::Time now) {
  bool all_seen = true;
  for (Attempt::Rank& rank : attempt.ranks) {
    LookAt(attempt, rank);
    all_seen = all_seen && !rank.is(RankStatus::Phase::kAbsent);
  }
  if (all_seen) {
    attempt.start_deadline = absl::InfiniteFuture();
    if (attempt.phase == Attempt::Phase::kStarting) {
      attempt.phase = Attempt::Phase::kRunning;
      attempt.WatchForHang();
    }
    return;
  }
  if (now < attempt.start_deadline) return;
  attempt.start_deadline = now + kComingUp;
  GiveUpAbsent(attempt);
}

void AgentCore::LookAt(Attempt& attempt, Attempt::Rank& rank) {
  if (rank.is(RankStatus::Phase::kEnded)) return;
  const bool was_absent = rank.is(RankStatus::Phase::kAbsent);
  rank.status = runner_.Observe(rank.dir);
  if (rank.is(RankStatus::Phase::kAbsent)) return;
  if (!rank.spooled) {
    rank.spooled = true;
    spool_.Add(attempt.name, rank.rank, rank.dir);
  }
  // It may show up after the others were told.
  if (was_absent && attempt.fenced) {
    runner_.Kill(rank.dir);
  } else if (was_absent && attempt.stop_sent) {
    runner_.Stop(rank.dir);
  }
  if (rank.is(RankStatus::Phase::kEnded)) {
    spool_.SetEnded(attempt.name, rank.rank);
    runner_.Forget(rank.dir);
  }
}

void AgentCore::GiveUpAbsent(Attempt& attempt) {
  for (Attempt::Rank& rank : attempt.ranks) {
    if (!rank.is(RankStatus::Phase::kAbsent)) continue;
    // One that is just coming up is seen, and told, with a later look.
    if (!runner_.GiveUp(rank.dir)) continue;
    if (attempt.reason == AttemptReason::kUnspecified && !attempt.stop_sent) {
      attempt.reason = attempt.adopted ? AttemptReason::kRankLost
                                       : AttemptReason::kStartFailed;
      attempt.message = absl::StrCat(
          Where(attempt), " rank ", rank.rank,
          attempt.adopted ? ": the agent ended before it was started"
                          : ": did not come up in time");
    }
    LookAt(attempt, rank);
    rank.asked = false;
  }
}

void AgentCore::StopIfDue(Attempt& attempt, absl::Time now) {
  if (now >= attempt.lease_end && !attempt.fenced) {
    spdlog::warn("attempt {}: its lease is over, ending it at once",
                 attempt.name);
    attempt.fenced = true;
    attempt.lease_end = absl::InfiniteFuture();
    attempt.phase = Attempt::Phase::kStopping;
    for (const Attempt::Rank& rank : attempt.ranks) runner_.Kill(rank.dir);
  }
  if (attempt.reason == AttemptReason::kUnspecified) {
    const Conclusion cause = FindCause(attempt.Ends());
    if (cause.rank >= 0) {
      attempt.reason = cause.reason;
      attempt.message = Blame(attempt, cause.rank, cause.how);
      attempt.lost_peers = cause.lost_peers;
    }
  }
  StopIfHanging(attempt, now);
  const bool unwanted = !attempt.wanted || attempt.refused || stopping_all_;
  if (attempt.stop_sent ||
      (!unwanted && attempt.reason == AttemptReason::kUnspecified)) {
    return;
  }
  // Another worker's agent noticed; the ranks here hang as well.
  if (!attempt.wanted && attempt.stop_reason == AttemptReason::kHang) {
    DumpStacks(attempt);
  }
  attempt.stop_sent = true;
  attempt.phase = Attempt::Phase::kStopping;
  for (const Attempt::Rank& rank : attempt.ranks) {
    if (rank.is(RankStatus::Phase::kRunning)) runner_.Stop(rank.dir);
  }
  GiveUpAbsent(attempt);
}

void AgentCore::StopIfHanging(Attempt& attempt, absl::Time now) {
  if (attempt.phase != Attempt::Phase::kRunning || attempt.stop_sent ||
      attempt.reason != AttemptReason::kUnspecified ||
      !attempt.hang.Look(now)) {
    return;
  }
  attempt.reason = AttemptReason::kHang;
  attempt.message = absl::StrCat(
      Where(attempt), " rank 0: hangs, it gave no sign of life for ",
      absl::FormatDuration(attempt.hang.after()), " (limits.hang_after)",
      attempt.is_command() ? "" : "; stacks of its ranks are in their logs");
  spdlog::warn("attempt {}: hangs, ending it", attempt.name);
  DumpStacks(attempt);
}

void AgentCore::DumpStacks(const Attempt& attempt) {
  // A rank reads this before the SIGTERM that follows.
  for (const Attempt::Rank& rank : attempt.ranks) {
    if (attempt.is_command() || !rank.is(RankStatus::Phase::kRunning)) continue;
    runner_.Send(rank.dir, {.name = std::string(link::kStacks)});
  }
}

void AgentCore::FinishIfGone(Attempt& attempt) {
  for (const Attempt::Rank& rank : attempt.ranks) {
    if (rank.status.phase == RankStatus::Phase::kRunning) return;
    if (rank.status.phase == RankStatus::Phase::kAbsent && rank.asked) return;
  }
  attempt.phase = Attempt::Phase::kEnded;
  const Conclusion conclusion = Conclude(attempt.Ends());
  // A start that failed is not told by exit codes; a better cause may have
  // shown up since the first one was seen.
  if (attempt.reason == AttemptReason::kUnspecified || conclusion.rank >= 0 ||
      attempt.fenced) {
    attempt.reason = conclusion.reason;
    attempt.lost_peers = conclusion.lost_peers;
    attempt.message =
        conclusion.rank >= 0 ? Blame(attempt, conclusion.rank, conclusion.how)
        : attempt.fenced     ? absl::StrCat(Where(attempt), ": ", kLeaseOver)
                             : "";
  }
  spdlog::info("attempt {}: ended{}{}", attempt.name,
               attempt.message.empty() ? "" : ": ", attempt.message);
}

std::string AgentCore::Blame(const Attempt& attempt, int rank,
                             const std::string& how) const {
  const std::string words = LastWords(link::RankDir(attempt.dir, rank));
  return absl::StrCat("job ", attempt.spec.job, " attempt ",
                      attempt.spec.attempt, " rank ", rank, " on ",
                      options_.hostname, ": ", how, words.empty() ? "" : ": ",
                      words);
}

}  // namespace epochd::agent
