// SPDX-License-Identifier: Apache-2.0
//
// From what agents observed to where attempts and jobs stand. Asked again
// whenever anything may have changed; looks at states, not at messages, so a
// lost or dropped step is made up for by the next look.
#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "server/control/core.h"
#include "server/job/restart.h"
#include "spdlog/spdlog.h"

namespace epochd::control {

using job::AttemptState;
using job::JobReason;
using job::JobState;

void Core::Reconcile(job::JobId id) {
  const auto it = live_.find(id);
  if (it == live_.end()) return;
  LiveJob& live = it->second;
  for (;;) {
    const job::Job* job = Current(id);
    const job::Attempt* attempt = job->LiveAttempt();
    // A newer attempt of this transaction has nothing to look at yet.
    if (attempt == nullptr || attempt->number != live.watch.number()) return;
    const int64_t sequence = job->last_sequence;
    MarkGoneRanks(live, *job);
    if (!StepAttempt(live)) StepJob(live);
    if (Current(id)->last_sequence == sequence) break;
  }
  next_scan_ = std::min(next_scan_, NextDeadline(live));
}

void Core::MarkGoneRanks(LiveJob& live, const job::Job& job) {
  const absl::Duration term = job.spec->restart.worker_lost_after;
  // Somebody waits for the end of a stopping job, and its trainers do not know
  // whose fault the silence is: their own lease is what ended them.
  const bool asked_for = job.state == JobState::kStopping;
  for (const job::RankPlacement& rank : job.LiveAttempt()->ranks) {
    if (fleet_.IsSilent(rank.worker, now_)) {
      live.watch.PostponeDrain(rank.worker, now_);
    }
    if (live.watch.IsOrphanedFor(rank.worker, term, now_)) {
      live.watch.MarkGone(
          rank.worker, fmt::format("{} has another work folder, and what ran "
                                   "in the old one has ended with its lease",
                                   rank.worker.name()));
    } else if (asked_for ? fleet_.CertainlyEnded(rank.worker, term, now_)
                         : fleet_.LostFor(rank.worker, term, now_)) {
      fleet_.Suspect(rank.worker);
      ShowWorker(rank.worker);
      live.watch.MarkGone(
          rank.worker, fmt::format("{} was silent for {}", rank.worker.name(),
                                   absl::FormatDuration(term)));
    }
  }
}

bool Core::StepAttempt(LiveJob& live) {
  const job::Job& job = *Current(live.job->id);
  const job::Attempt& attempt = *job.LiveAttempt();
  auto next = live.watch.Next(attempt, now_, options_.drain_deadline);
  if (!next) return false;
  if (next->state == AttemptState::kEnded) {
    EndAttempt(live, job, *std::move(next));
    return true;
  }
  if (next->state == AttemptState::kRunning && !live.running_since) {
    live.running_since = now_;
  }
  Decide(job.id, attempt.number, *std::move(next));
  return true;
}

void Core::EndAttempt(LiveJob& live, const job::Job& job,
                      job::AttemptStateChanged ended) {
  const job::JobId id = job.id;
  const job::EndDecision decision =
      job::DecideEnd(job, ended.reason, ended.message);
  ended.counts_as_restart = decision.counts_as_restart;
  if (live.running_since) ended.run_time = now_ - *live.running_since;
  TellMissing(live, job);
  JudgeWorkers(live, job, ended.reason);
  if (ended.reason != job::AttemptReason::kStartFailed) {
    could_not_start_.erase(id);
  } else if (const auto worker = live.watch.BlamedWorker()) {
    could_not_start_[id].insert(*worker);
  }
  Decide(id, job.CurrentAttempt(), std::move(ended));
  Decide(
      id, job::AttemptNumber(),
      job::JobStateChanged{decision.state, decision.reason, decision.message});
  must_schedule_ = true;
}

void Core::JudgeWorkers(const LiveJob& live, const job::Job& job,
                        job::AttemptReason reason) {
  using job::AttemptReason;
  transaction_.OnDrop([this, before = quarantine_.entries()]() mutable {
    quarantine_.Restore(std::move(before));
  });
  if (reason == AttemptReason::kCompleted ||
      reason == AttemptReason::kStoppedWithCheckpoint) {
    for (const auto& rank : job.LiveAttempt()->ranks) {
      quarantine_.Clear(rank.worker);
    }
    return;
  }
  // Others say something about the job, not about a machine.
  if (reason != AttemptReason::kStartFailed &&
      reason != AttemptReason::kRankLost && reason != AttemptReason::kHang &&
      reason != AttemptReason::kWorkerLost) {
    return;
  }
  const auto worker = live.watch.BlamedWorker();
  if (!worker) return;
  // Where half of the workers are bad it is not the workers.
  int64_t num_connected = 0;
  for (const fleet::WorkerRecord* one : fleet_.All()) {
    num_connected += fleet_.StateOf(one->id, now_) != fleet::WorkerState::kLost;
  }
  const bool may_begin =
      2 * (quarantine_.NumQuarantined(now_) + 1) <= num_connected;
  if (!quarantine_.Failed(*worker, job.id, now_, may_begin)) return;
  const std::string text = fmt::format(
      "{} is quarantined for {}: {} attempts in a row failed there",
      worker->name(), absl::FormatDuration(quarantine_.TermOf(*worker)),
      quarantine_.NumFailures(*worker));
  spdlog::warn("{}", text);
  Decide(job.id, job.CurrentAttempt(),
         job::Notice{job::Notice::Severity::kWarning, text, 0});
  ShowWorker(*worker);
}

void Core::TellMissing(const LiveJob& live, const job::Job& job) {
  for (const job::WorkerId& worker : live.watch.MissingFrom()) {
    std::string ranks;
    int32_t first = -1;
    for (const job::RankPlacement& rank : job.LiveAttempt()->ranks) {
      if (rank.worker != worker) continue;
      if (first < 0) first = rank.rank;
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank.rank);
    }
    std::string why =
        live.watch.IsGoneOn(worker)
            ? "it was lost before it had handed in all"
            : fmt::format("it handed in nothing for {}, though not all",
                          absl::FormatDuration(options_.drain_deadline));
    spdlog::warn("{}: {}: {}",
                 job::AttemptId{job.id, job.CurrentAttempt()}.ResourceName(),
                 worker.name(), why);
    Decide(job.id, job.CurrentAttempt(),
           job::Notice{job::Notice::Severity::kWarning,
                       fmt::format("the last lines and log bytes of rank {} on "
                                   "{} are missing: {}",
                                   ranks, worker.name(), why),
                       first});
  }
}

void Core::StepJob(const LiveJob& live) {
  const job::Job& job = *Current(live.job->id);
  if (job.state != JobState::kStarting && job.state != JobState::kRunning) {
    return;
  }
  const job::Attempt& attempt = *job.LiveAttempt();
  if (RunTime(live, job) >= job.spec->max_time) {
    Stop(job.id, JobReason::kTimeLimit, job::AttemptReason::kTimeLimit,
         fmt::format("limits.max_time of {} was reached",
                     absl::FormatDuration(job.spec->max_time)));
    return;
  }
  job::JobStateChanged next{job.state, JobReason::kAssigned, ""};
  if (job.state == JobState::kRunning ||
      attempt.state == AttemptState::kRunning) {
    next.state = JobState::kRunning;
    next.reason = JobReason::kTraining;
  }
  for (const job::RankPlacement& rank : attempt.ranks) {
    if (live.watch.IsOrphanedOn(rank.worker)) {
      next.reason = JobReason::kAwaitingCertainEnd;
      next.message = fmt::format(
          "{} came back with another work folder; what ran in the old one ends "
          "with its lease",
          rank.worker.name());
      break;
    }
    if (live.watch.IsOverOn(rank.worker) ||
        !fleet_.IsSilent(rank.worker, now_)) {
      continue;
    }
    next.reason = attempt.state == AttemptState::kStopping
                      ? JobReason::kAwaitingCertainEnd
                      : JobReason::kWorkerUnreachable;
    next.message = fmt::format("{} is silent", rank.worker.name());
    break;
  }
  if (next.state == job.state && next.reason == job.reason) return;
  Decide(job.id, job::AttemptNumber(), std::move(next));
}

absl::Duration Core::RunTime(const LiveJob& live, const job::Job& job) const {
  return job.run_time + (live.running_since ? now_ - *live.running_since
                                            : absl::ZeroDuration());
}

fleet::SteadyTime Core::NextDeadline(const LiveJob& live) const {
  auto deadline = live.watch.NextDeadline(options_.drain_deadline);
  if (live.running_since && live.job->state != JobState::kStopping) {
    deadline =
        std::min(deadline, *live.running_since +
                               (live.job->spec->max_time - live.job->run_time));
  }
  // What is over already waits for something else than time.
  return deadline > now_ ? deadline : fleet::SteadyTime::InfiniteFuture();
}

}  // namespace epochd::control
