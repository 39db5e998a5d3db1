// SPDX-License-Identifier: Apache-2.0
//
// What agents say, and what they are told.
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "server/control/core.h"
#include "server/job/event_line.h"

namespace epochd::control {
namespace {

// What an agent acts on. A list of checkpoints alone is no reason to tell it
// again: it matters only when the attempt starts.
bool SameOrders(const DesiredState& a, const DesiredState& b) {
  return std::equal(a.attempts.begin(), a.attempts.end(), b.attempts.begin(),
                    b.attempts.end(),
                    [](const DesiredAttempt& x, const DesiredAttempt& y) {
                      return x.attempt == y.attempt && x.run == y.run &&
                             x.stop_reason == y.stop_reason &&
                             x.rendezvous == y.rendezvous && x.start == y.start;
                    });
}

}  // namespace

void Core::Register(Registration registration, fleet::SteadyTime at,
                    Done<RegisterResult> done) {
  fleet::WorkerRecord& record = registration.worker;
  const job::WorkerId id = record.id;
  record.register_time = clock_.Wall();
  std::optional<fleet::WorkerRecord> before;
  if (const auto* known = fleet_.Find(id)) before = *known;
  auto registered =
      fleet_.Register(std::move(record), registration.sequence, at);
  if (!registered.ok()) {
    if (absl::IsAborted(registered.status())) {
      board_.Count([](Stats& stats) { ++stats.num_fenced; });
    }
    AnswerAfterCommit([why = registered.status(),
                       done = std::move(done)](const absl::Status&) mutable {
      done(std::move(why));
    });
    return;
  }
  const fleet::WorkerRecord& after = *fleet_.Find(id);
  // The same folder on another boot: the machine was started anew. Another
  // folder may be on another machine, which says nothing about the first.
  if (registered->new_boot && before && before->work_dir == after.work_dir) {
    for (const job::JobId job : placed_[id]) {
      live_.at(job).watch.MarkGone(id,
                                   fmt::format("{} was restarted", id.name()));
      dirty_jobs_.insert(job);
    }
  }
  if (registered->newest) {
    fleet_.SetStopping(id, registration.stopping);
    fleet_.SetNotReady(id, std::move(registration.not_ready));
    TakeIn(id, registration.observed);
  }
  // A registration that could not be stored is known in memory all the same, so
  // the agent's next try looks like nothing new.
  const bool unsaved = unsaved_workers_.erase(id) > 0;
  if (!before || !(*before == after) || unsaved) {
    transaction_.SetWorker(after);
    transaction_.OnDrop([this, id] { unsaved_workers_.insert(id); });
  }
  if (registered->new_incarnation) board_.Supersede(id, after.incarnation);
  // Devices and labels may be others than before.
  shown_.erase(id);
  ShowWorker(id);
  board_.PublishSeen(id, clock_.Wall());
  dirty_workers_.insert(id);
  AnswerAfterCommit(
      [this, id, done = std::move(done)](const absl::Status& status) mutable {
        if (!status.ok()) return done(status);
        done(RegisterResult{options_.heartbeat_interval, board_.Desired(id),
                            cluster_id_});
      });
}

void Core::SendHeartbeat(const Heartbeat& heartbeat, fleet::SteadyTime at,
                         Done<std::shared_ptr<const DesiredState>> done) {
  const job::WorkerId id = heartbeat.worker;
  const auto newest =
      fleet_.Renew(id, heartbeat.incarnation, heartbeat.sequence, at);
  if (!newest.ok()) {
    if (absl::IsAborted(newest.status())) {
      board_.Count([](Stats& stats) { ++stats.num_fenced; });
    }
    AnswerAfterCommit([why = newest.status(), done = std::move(done)](
                          const absl::Status&) mutable { done(why); });
    return;
  }
  if (*newest) {
    // Before its ends are drawn conclusions from, which may place jobs.
    fleet_.SetStopping(id, heartbeat.stopping);
    fleet_.SetNotReady(id, heartbeat.not_ready);
    TakeIn(id, heartbeat.observed);
  }
  ShowWorker(id);
  board_.PublishSeen(id, clock_.Wall());
  AnswerAfterCommit(
      [this, id, done = std::move(done)](const absl::Status&) mutable {
        done(board_.Desired(id));
      });
}

void Core::TakeIn(const job::WorkerId& worker,
                  const std::vector<ObservedAttempt>& observed) {
  std::set<job::AttemptId> named;
  for (const ObservedAttempt& one : observed) {
    named.insert(one.attempt);
    const auto it = live_.find(one.attempt.job);
    // An older attempt is not in what is desired, so its agent ends it.
    if (it == live_.end() || it->second.watch.number() != one.attempt.number ||
        !placed_[worker].contains(one.attempt.job)) {
      continue;
    }
    const job::Attempt& attempt = *it->second.job->LiveAttempt();
    if (!CanTell(worker, attempt)) continue;
    AttemptWatch& watch = it->second.watch;
    const std::string rendezvous = watch.rendezvous();
    const bool may_start = watch.MayStart(attempt);
    TakeInProblems(it->second, worker, one);
    if (!watch.Observe(worker, one, now_)) continue;
    dirty_jobs_.insert(it->first);
    if (watch.rendezvous() != rendezvous ||
        watch.MayStart(attempt) != may_start) {
      for (const auto& rank : attempt.ranks) {
        dirty_workers_.insert(rank.worker);
      }
    }
  }
  const auto placed = placed_.find(worker);
  if (placed == placed_.end()) return;
  for (const job::JobId id : placed->second) {
    LiveJob& live = live_.at(id);
    const bool changed =
        !CanTell(worker, *live.job->LiveAttempt())
            ? live.watch.Orphan(worker,
                                fmt::format("{} came back with another work "
                                            "folder",
                                            worker.name()),
                                now_)
            : !named.contains({id, live.watch.number()}) &&
                  live.watch.ObserveAbsent(worker);
    if (changed) dirty_jobs_.insert(id);
  }
}

void Core::TakeInProblems(LiveJob& live, const job::WorkerId& worker,
                          const ObservedAttempt& observed) {
  const std::vector<std::string> known = live.watch.Problems(worker);
  const job::JobId id = observed.attempt.job;
  for (const std::string& problem : observed.problems) {
    if (std::find(known.begin(), known.end(), problem) != known.end()) continue;
    // Apply refuses it once the attempt is over: it came too late.
    const absl::Status told = transaction_.Emit(
        id, live.job, observed.attempt.number, clock_.Wall(),
        job::Notice{job::Notice::Severity::kError, problem,
                    observed.ranks.empty() ? 0 : observed.ranks[0].rank});
    if (!told.ok()) continue;
    transaction_.OnDrop([this, id, worker] {
      const auto it = live_.find(id);
      if (it != live_.end()) it->second.watch.ForgetProblems(worker);
    });
  }
}

bool Core::CanTell(const job::WorkerId& worker,
                   const job::Attempt& attempt) const {
  const fleet::WorkerRecord* record = fleet_.Find(worker);
  if (record == nullptr) return false;
  return std::all_of(attempt.ranks.begin(), attempt.ranks.end(),
                     [&](const job::RankPlacement& rank) {
                       // Empty: placed before folders were told apart.
                       return rank.worker != worker || rank.work_dir.empty() ||
                              rank.work_dir == record->work_dir;
                     });
}

// ---- lines
// --------------------------------------------------------------------

int64_t Core::WantedOffset(const LiveJob& live, const EventLines& lines) const {
  if (const auto pending = transaction_.FindOffset(lines.attempt, lines.rank)) {
    return *pending;
  }
  const auto it = live.offsets.find(lines.rank);
  return it == live.offsets.end() ? 0 : it->second;
}

void Core::ReportEvents(const EventLines& lines, Done<int64_t> done) {
  absl::Status refusal =
      board_.Admit(lines.worker, lines.incarnation, lines.attempt, lines.rank);
  int64_t next = 0;
  bool needs_commit = false;
  if (refusal.ok()) {
    LiveJob& live = live_.at(lines.attempt.job);
    next = WantedOffset(live, lines);
    const std::string_view text = lines.lines;
    const int64_t skip = next - lines.offset;
    // What was seen before is not looked at again, but it may be waiting for
    // this very commit.
    needs_commit =
        transaction_.FindOffset(lines.attempt, lines.rank).has_value();
    if (lines.offset < 0 || (!text.empty() && text.back() != '\n')) {
      refusal = absl::InvalidArgumentError(
          fmt::format("{}: lines of rank {} at offset {} are not whole lines",
                      lines.attempt.ResourceName(), lines.rank, lines.offset));
    } else if (skip >= 0 && skip < static_cast<int64_t>(text.size())) {
      if (skip > 0 && text[skip - 1] != '\n') {
        refusal = absl::InvalidArgumentError(
            fmt::format("{}: offset {} of rank {} is inside a line",
                        lines.attempt.ResourceName(), next, lines.rank));
      } else {
        std::string_view rest = text.substr(skip);
        while (!rest.empty()) {
          const size_t end = rest.find('\n');
          if (TakeInLine(live, lines, rest.substr(0, end))) needs_commit = true;
          rest.remove_prefix(end + 1);
        }
        next = lines.offset + static_cast<int64_t>(text.size());
        if (needs_commit) {
          transaction_.SetOffset(lines.attempt, lines.rank, next);
        } else {
          // Nothing to keep: reading it again after a restart does no harm.
          live.offsets[lines.rank] = next;
        }
      }
    }
  }
  AnswerAfterCommit(
      [refusal = std::move(refusal), next, needs_commit,
       done = std::move(done)](const absl::Status& status) mutable {
        if (!refusal.ok()) return done(std::move(refusal));
        if (needs_commit && !status.ok()) return done(status);
        done(next);
      });
}

bool Core::TakeInLine(LiveJob& live, const EventLines& lines,
                      std::string_view line) {
  const job::JobId id = lines.attempt.job;
  const job::AttemptNumber attempt = lines.attempt.number;
  absl::Time time = clock_.Wall();
  const auto emit = [&](job::EventBody body) {
    // Apply may refuse what a trainer says; that is not worth a failed attempt.
    return transaction_.Emit(id, live.job, attempt, time, std::move(body)).ok();
  };
  auto parsed = job::ParseEventLine(line);
  if (!parsed.ok()) {
    if (live.warned_of_lines) return false;
    live.warned_of_lines = true;
    return emit(job::Notice{
        job::Notice::Severity::kWarning,
        fmt::format("a line of events.jsonl cannot be read and is left out: {}",
                    std::string(parsed.status().message())),
        lines.rank});
  }
  if (parsed->time) time = std::min(time, *parsed->time);
  if (auto* notice = std::get_if<job::Notice>(&parsed->body)) {
    notice->rank = lines.rank;
    return emit(std::move(*notice));
  }
  // Rank 0 alone speaks for the job.
  if (lines.rank != 0) return false;
  return std::visit(
      [&](auto&& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, job::IgnoredLine>) {
          return false;
        } else if constexpr (std::is_same_v<Body, job::Progress>) {
          board_.PublishProgress(id, attempt, time, std::move(body));
          board_.WakeJob(id);
          return false;
        } else if constexpr (std::is_same_v<Body, job::CheckpointRemovedLine>) {
          const auto& known = Current(id)->checkpoints;
          const auto it = std::find_if(
              known.begin(), known.end(),
              [&](const auto& one) { return one.path == body.path; });
          if (it == known.end()) return false;
          job::CheckpointRemoved removed{*it};
          removed.checkpoint.removed = true;
          return emit(std::move(removed));
        } else if constexpr (std::is_same_v<Body, job::CheckpointSaved>) {
          body.checkpoint.attempt = attempt;
          body.checkpoint.create_time = time;
          return emit(std::move(body));
        } else {
          return emit(std::move(body));
        }
      },
      std::move(parsed->body));
}

// ---- what is desired
// ----------------------------------------------------------

std::shared_ptr<DesiredState> Core::BuildDesired(const job::WorkerId& id) {
  auto desired = std::make_shared<DesiredState>();
  const auto placed = placed_.find(id);
  if (placed == placed_.end()) return desired;
  for (const job::JobId job_id : placed->second) {
    const LiveJob& live = live_.at(job_id);
    // Never starts an attempt twice on a worker that lost it, whatever keeps
    // its end from being committed.
    if (live.watch.IsGoneOn(id)) continue;
    const job::Attempt& attempt = *live.job->LiveAttempt();
    // Nor beside its first processes, which run in another folder.
    if (!CanTell(id, attempt)) continue;
    DesiredAttempt order;
    order.attempt = {job_id, attempt.number};
    order.run = attempt.state < job::AttemptState::kStopping;
    order.stop_grace = options_.stop_grace;
    order.stop_reason = attempt.reason;
    order.spec = live.job->spec;
    order.world_size = static_cast<int32_t>(attempt.ranks.size());
    for (const job::RankPlacement& rank : attempt.ranks) {
      order.rank_workers.push_back(rank.worker);
      if (rank.worker == id) order.ranks.push_back(rank);
    }
    order.rendezvous = live.watch.rendezvous();
    order.start = live.watch.MayStart(attempt);
    const auto& checkpoints = live.job->checkpoints;
    for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
      if (it->attempt < attempt.number) order.resume.push_back(*it);
    }
    order.self_fence_after =
        options_.self_fence_share * live.job->spec->restart.worker_lost_after;
    desired->attempts.push_back(std::move(order));
  }
  return desired;
}

void Core::PushDesired() {
  for (const job::WorkerId& id : std::exchange(dirty_workers_, {})) {
    auto desired = BuildDesired(id);
    const auto last = board_.Desired(id);
    if (last != nullptr && SameOrders(*last, *desired)) continue;
    desired->version = ++desired_version_;
    board_.PublishDesired(id, std::move(desired));
  }
}

}  // namespace epochd::control
