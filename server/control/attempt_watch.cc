// SPDX-License-Identifier: Apache-2.0
#include "server/control/attempt_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "worker/link/exit_code.h"

namespace epochd::control {
namespace {

using job::AttemptReason;
using job::AttemptState;

// What a rank's exit says before its agent says more.
AttemptReason ReasonOfExit(const ObservedRank& rank) {
  if (!rank.exit_code) return AttemptReason::kRankLost;
  switch (*rank.exit_code) {
    case link::kTrainingFailed:
      return AttemptReason::kTrainingFailed;
    case link::kStoppedWithCheckpoint:
      return AttemptReason::kStoppedWithCheckpoint;
    case link::kSelfFenced:
      return AttemptReason::kWorkerLost;
    case link::kBadSpec:
      return AttemptReason::kBadSpec;
    default:
      return AttemptReason::kRankLost;
  }
}

bool Failed(const ObservedRank& rank) {
  return !rank.running &&
         (rank.term_signal || (rank.exit_code && *rank.exit_code != 0));
}

std::string DescribeExit(const job::WorkerId& worker,
                         const ObservedRank& rank) {
  return rank.term_signal
             ? fmt::format("rank {} on {} was ended by signal {}", rank.rank,
                           worker.name(), *rank.term_signal)
             : fmt::format("rank {} on {} exited with code {}", rank.rank,
                           worker.name(), rank.exit_code.value_or(0));
}

// Whether a worker's own word for the end explains it better than an exit code.
bool IsSpecific(AttemptReason reason) {
  return reason != AttemptReason::kUnspecified &&
         reason != AttemptReason::kCompleted &&
         reason != AttemptReason::kCancelled;
}

bool SameReport(const ObservedAttempt& a, const ObservedAttempt& b) {
  return a.state == b.state && a.reason == b.reason && a.message == b.message &&
         a.drained == b.drained && a.rendezvous == b.rendezvous &&
         a.ready == b.ready && a.acknowledged_bytes == b.acknowledged_bytes &&
         a.problems == b.problems && a.lost_peers == b.lost_peers &&
         std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(),
                    b.ranks.end(),
                    [](const ObservedRank& x, const ObservedRank& y) {
                      return x.rank == y.rank && x.running == y.running &&
                             x.exit_code == y.exit_code &&
                             x.term_signal == y.term_signal;
                    });
}

}  // namespace

AttemptWatch::AttemptWatch(const job::Attempt& attempt)
    : number_(attempt.number) {
  if (!attempt.start_time) return;
  for (const job::RankPlacement& rank : attempt.ranks) {
    reports_[rank.worker].seen = true;
  }
}

bool AttemptWatch::Observe(const job::WorkerId& worker,
                           const ObservedAttempt& observed,
                           fleet::SteadyTime now) {
  Report& report = reports_[worker];
  // What is over stays over, and states never go back.
  if (report.gone) return false;
  report.orphaned_at.reset();
  if (report.seen && (observed.state < report.last.state ||
                      SameReport(observed, report.last))) {
    return false;
  }
  if (observed.state == AttemptState::kEnded &&
      (!report.seen || report.last.state != AttemptState::kEnded ||
       observed.acknowledged_bytes > report.last.acknowledged_bytes)) {
    report.drains_since = now;
  }
  report.seen = true;
  report.last = observed;
  if (!observed.rendezvous.empty()) rendezvous_ = observed.rendezvous;
  FindCause(worker, report);
  return true;
}

bool AttemptWatch::ObserveAbsent(const job::WorkerId& worker) {
  const Report* report = Find(worker);
  if (report == nullptr || !report->seen) return false;
  return MarkGone(worker,
                  fmt::format("{} no longer has the attempt", worker.name()));
}

bool AttemptWatch::Orphan(const job::WorkerId& worker,
                          const std::string& message, fleet::SteadyTime now) {
  Report& report = reports_[worker];
  if (report.gone || report.orphaned_at) return false;
  // It had ended before: only lines are out of reach.
  if (report.seen && report.last.state == AttemptState::kEnded) {
    return MarkGone(worker, message);
  }
  report.orphaned_at = now;
  Blame({worker, AttemptReason::kWorkerLost, message});
  return true;
}

bool AttemptWatch::MarkGone(const job::WorkerId& worker,
                            const std::string& message) {
  Report& report = reports_[worker];
  if (report.gone) return false;
  report.gone = true;
  // Ended there before, so that its end was known: only lines may be missing.
  if (report.seen && report.last.state == AttemptState::kEnded) return true;
  Blame({worker, AttemptReason::kWorkerLost, message});
  return true;
}

void AttemptWatch::PostponeDrain(const job::WorkerId& worker,
                                 fleet::SteadyTime now) {
  const auto it = reports_.find(worker);
  if (it != reports_.end()) it->second.drains_since = now;
}

void AttemptWatch::ForgetProblems(const job::WorkerId& worker) {
  const auto it = reports_.find(worker);
  if (it != reports_.end()) it->second.last.problems.clear();
}

bool AttemptWatch::IsGoneOn(const job::WorkerId& worker) const {
  const Report* report = Find(worker);
  return report != nullptr && report->gone;
}

bool AttemptWatch::IsOrphanedOn(const job::WorkerId& worker) const {
  const Report* report = Find(worker);
  return report != nullptr && !report->gone && report->orphaned_at.has_value();
}

bool AttemptWatch::IsOrphanedFor(const job::WorkerId& worker,
                                 absl::Duration term,
                                 fleet::SteadyTime now) const {
  const Report* report = Find(worker);
  return report != nullptr && report->orphaned_at &&
         now - *report->orphaned_at >= term;
}

bool AttemptWatch::IsOverOn(const job::WorkerId& worker) const {
  const Report* report = Find(worker);
  return report != nullptr &&
         (report->gone ||
          (report->seen && report->last.state == AttemptState::kEnded));
}

std::vector<std::string> AttemptWatch::Problems(
    const job::WorkerId& worker) const {
  const Report* report = Find(worker);
  return report == nullptr ? std::vector<std::string>() : report->last.problems;
}

std::optional<job::WorkerId> AttemptWatch::BlamedWorker() const {
  return cause_ ? std::optional(cause_->worker) : std::nullopt;
}

bool AttemptWatch::MayStart(const job::Attempt& attempt) const {
  const auto& ranks = attempt.ranks;
  if (std::all_of(ranks.begin(), ranks.end(),
                  [&](const job::RankPlacement& rank) {
                    return rank.worker == ranks.front().worker;
                  })) {
    return true;
  }
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](const job::RankPlacement& rank) {
                       const Report* report = Find(rank.worker);
                       return report != nullptr && report->last.ready;
                     });
}

std::vector<job::WorkerId> AttemptWatch::MissingFrom() const {
  std::vector<job::WorkerId> missing;
  for (const auto& [worker, report] : reports_) {
    if (report.seen && report.last.state == AttemptState::kEnded &&
        !report.last.drained) {
      missing.push_back(worker);
    }
  }
  return missing;
}

std::optional<job::AttemptStateChanged> AttemptWatch::Next(
    const job::Attempt& attempt, fleet::SteadyTime now,
    absl::Duration drain_deadline) const {
  bool all_over = true;
  bool all_running = true;
  bool any_started = false;
  for (const job::RankPlacement& placement : attempt.ranks) {
    const Report* report = Find(placement.worker);
    const AttemptState state = report != nullptr && report->seen
                                   ? report->last.state
                                   : AttemptState::kUnspecified;
    const bool ended = state == AttemptState::kEnded;
    const bool gone = report != nullptr && report->gone;
    const bool drained =
        ended &&
        (report->last.drained || now - report->drains_since >= drain_deadline);
    all_over &= gone || drained;
    any_started |= state >= AttemptState::kStarting;
    all_running &= state == AttemptState::kRunning ||
                   (ended && report->last.reason == AttemptReason::kCompleted);
  }
  job::AttemptStateChanged next;
  if (all_over) {
    const Cause cause = FinalCause(attempt);
    next.state = AttemptState::kEnded;
    next.reason = cause.reason;
    next.message = cause.message;
    next.ranks = WithExits(attempt);
  } else if (cause_ && attempt.state < AttemptState::kStopping) {
    next.state = AttemptState::kStopping;
    next.reason = cause_->reason;
    next.message = cause_->message;
  } else if (all_running && attempt.state < AttemptState::kRunning) {
    next.state = AttemptState::kRunning;
  } else if (any_started && attempt.state < AttemptState::kStarting) {
    next.state = AttemptState::kStarting;
  } else {
    return std::nullopt;
  }
  return next;
}

fleet::SteadyTime AttemptWatch::NextDeadline(
    absl::Duration drain_deadline) const {
  auto deadline = fleet::SteadyTime::InfiniteFuture();
  for (const auto& [worker, report] : reports_) {
    if (report.seen && !report.gone && !report.last.drained &&
        report.last.state == AttemptState::kEnded) {
      deadline = std::min(deadline, report.drains_since + drain_deadline);
    }
  }
  return deadline;
}

void AttemptWatch::Blame(Cause cause) {
  if (!cause_ || (cause_->lost_peers && !cause.lost_peers)) {
    cause_ = std::move(cause);
  }
}

void AttemptWatch::FindCause(const job::WorkerId& worker,
                             const Report& report) {
  const ObservedAttempt& last = report.last;
  // A worker of whose ranks an exit code was the first sign may say more.
  if (cause_ && cause_->worker == worker && IsSpecific(last.reason) &&
      cause_->reason != last.reason) {
    cause_.reset();
  }
  // Who ended it as it was told has nothing to say.
  const bool was_told = cause_ && last.message.empty();
  if (last.reason != AttemptReason::kUnspecified &&
      last.reason != AttemptReason::kCompleted) {
    if (!was_told) Blame({worker, last.reason, last.message, last.lost_peers});
    return;
  }
  for (const ObservedRank& rank : last.ranks) {
    if (!Failed(rank)) continue;
    Blame({worker, ReasonOfExit(rank), DescribeExit(worker, rank),
           rank.exit_code == link::kInfrastructure});
  }
  if (!cause_ && last.state == AttemptState::kEnded &&
      last.reason == AttemptReason::kUnspecified) {
    cause_ = Cause{worker, AttemptReason::kRankLost,
                   fmt::format("{} gave no reason", worker.name())};
  }
}

const AttemptWatch::Report* AttemptWatch::Find(
    const job::WorkerId& worker) const {
  const auto it = reports_.find(worker);
  return it == reports_.end() ? nullptr : &it->second;
}

AttemptWatch::Cause AttemptWatch::FinalCause(
    const job::Attempt& attempt) const {
  const bool all_completed =
      std::all_of(attempt.ranks.begin(), attempt.ranks.end(),
                  [&](const job::RankPlacement& placement) {
                    const Report* report = Find(placement.worker);
                    return report != nullptr && report->seen &&
                           report->last.state == AttemptState::kEnded &&
                           report->last.reason == AttemptReason::kCompleted;
                  });
  if (all_completed) return {{}, AttemptReason::kCompleted, ""};
  const bool asked_for = attempt.reason == AttemptReason::kCancelled ||
                         attempt.reason == AttemptReason::kTimeLimit;
  if (asked_for || (attempt.state == AttemptState::kStopping && !cause_)) {
    return {{}, attempt.reason, attempt.message};
  }
  if (cause_) {
    // After a restart of this program the first to report need not be the first
    // that failed: the journal knows better, unless it is the same.
    if (attempt.state == AttemptState::kStopping &&
        attempt.reason != AttemptReason::kRankLost) {
      return {{}, attempt.reason, attempt.message};
    }
    return *cause_;
  }
  return {{}, AttemptReason::kWorkerLost, "every worker of it is lost"};
}

std::vector<job::RankPlacement> AttemptWatch::WithExits(
    const job::Attempt& attempt) const {
  std::vector<job::RankPlacement> ranks = attempt.ranks;
  for (const auto& [worker, report] : reports_) {
    for (const ObservedRank& observed : report.last.ranks) {
      const auto index = static_cast<size_t>(observed.rank);
      if (index >= ranks.size() || ranks[index].worker != worker) continue;
      ranks[index].exit_code = observed.exit_code;
      ranks[index].term_signal = observed.term_signal;
    }
  }
  return ranks;
}

}  // namespace epochd::control
