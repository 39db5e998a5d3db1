// SPDX-License-Identifier: Apache-2.0
#include "server/control/core.h"

#include <algorithm>
#include <random>
#include <utility>

#include "fmt/format.h"
#include "server/job/restart.h"
#include "spdlog/spdlog.h"

namespace epochd::control {
namespace {

// Settle asks to be called this often even when nothing happens.
constexpr absl::Duration kScanInterval = absl::Seconds(1);
// A turn that comes this late was not the kernel being busy for a moment.
constexpr absl::Duration kStall = absl::Seconds(3);
// Between attempts to commit our own decisions while the store is full.
constexpr absl::Duration kRetryInterval = absl::Seconds(1);

Options WithDefaults(Options options) {
  if (!options.random) {
    options.random = [] {
      std::random_device device;
      return (static_cast<uint64_t>(device()) << 32) | device();
    };
  }
  return options;
}

std::vector<job::WorkerId> WorkersOf(const job::Attempt* attempt) {
  std::vector<job::WorkerId> workers;
  if (attempt == nullptr) return workers;
  for (const job::RankPlacement& rank : attempt->ranks) {
    if (workers.empty() || workers.back() != rank.worker) {
      workers.push_back(rank.worker);
    }
  }
  return workers;
}

}  // namespace

Core::Core(Options options, const Clock& clock, store::JobStore& store)
    : options_(WithDefaults(std::move(options))),
      clock_(clock),
      store_(store),
      board_(store, options_.tail_events),
      fleet_({options_.unreachable_after, options_.lost_after}),
      quarantine_(options_.quarantine) {}

absl::Status Core::Load() {
  auto snapshot = store_.Load();
  if (!snapshot.ok()) return snapshot.status();
  now_ = clock_.Steady();
  cluster_id_ = snapshot->cluster_id;
  next_submit_number_ = snapshot->next_submit_number;
  desired_version_ = snapshot->generation << 32;
  std::erase_if(snapshot->num_jobs,
                [](const auto& item) { return !job::IsTerminal(item.first); });
  board_.SetTerminalCounts(std::move(snapshot->num_jobs));
  for (fleet::WorkerRecord& record : snapshot->workers) {
    const job::WorkerId id = record.id;
    fleet_.Restore(std::move(record), now_);
    ShowWorker(id);
    dirty_workers_.insert(id);
  }
  for (JobPtr& job : snapshot->live_jobs) {
    board_.PublishJob(job, {});
    Remember(std::move(job), now_);
  }
  for (const store::EventOffset& offset : snapshot->offsets) {
    const auto it = live_.find(offset.attempt.job);
    if (it != live_.end() &&
        it->second.watch.number() == offset.attempt.number) {
      it->second.offsets[offset.rank] = offset.next_offset;
    }
  }
  next_scan_ = now_;
  loaded_wall_ = clock_.Wall();
  loaded_at_ = now_;
  next_removal_ = now_;
  next_sweep_ = now_;
  PushDesired();
  return absl::OkStatus();
}

void Core::Remember(JobPtr job, fleet::SteadyTime now) {
  const job::JobId id = job->id;
  LiveJob& live = live_[id];
  live.job = std::move(job);
  if (const job::Attempt* attempt = live.job->LiveAttempt()) {
    live.watch = AttemptWatch(*attempt);
    if (attempt->start_time) {
      // The only place where wall time becomes steady time: that of before a
      // restart is all there is.
      live.running_since = now - std::max(absl::ZeroDuration(),
                                          clock_.Wall() - *attempt->start_time);
    }
    active_.insert(id);
    for (const auto& worker : WorkersOf(attempt)) placed_[worker].insert(id);
    return;
  }
  live.queued_since = now;
  live.not_before = now + job::BackoffOf(*live.job);
  queue_[{live.job->spec->priority, live.job->submit_number}] = id;
}

const job::Job* Core::Current(job::JobId id) const {
  if (const job::Job* job = transaction_.Find(id)) return job;
  const auto it = live_.find(id);
  return it == live_.end() ? nullptr : it->second.job.get();
}

absl::Status Core::Emit(job::JobId id, job::AttemptNumber attempt,
                        job::EventBody body) {
  const auto it = live_.find(id);
  return transaction_.Emit(id, it == live_.end() ? nullptr : it->second.job,
                           attempt, clock_.Wall(), std::move(body));
}

void Core::Decide(job::JobId id, job::AttemptNumber attempt,
                  job::EventBody body) {
  const absl::Status status = Emit(id, attempt, std::move(body));
  if (status.ok()) return;
  spdlog::critical("a decision of the controller was refused: {}",
                   status.ToString());
  board_.Count([](Stats& stats) { ++stats.num_refused_decisions; });
}

void Core::BeginTurn() {
  now_ = clock_.Steady();
  if (!settled_ || now_ - *settled_ < kStall) return;
  const absl::Duration gap = now_ - *settled_;
  spdlog::warn("the coordinator stood still for {}, leases are extended",
               absl::FormatDuration(gap));
  fleet_.NoteStall(gap, now_);
}

fleet::SteadyTime Core::Settle() {
  now_ = clock_.Steady();
  fleet_.Tick(now_);
  // While the store is full our own decisions wait, but not when something else
  // is to be committed: a worker's new boot may not become durable without the
  // end of what ran there before.
  const bool may_decide = fatal_.ok() && (!retry_at_ || *retry_at_ <= now_ ||
                                          !transaction_.empty());
  if (now_ >= next_scan_) {
    next_scan_ = now_ + kScanInterval;
    for (const fleet::WorkerRecord* worker : fleet_.All()) {
      ShowWorker(worker->id);
    }
    if (may_decide) ForgetLostWorkers();
    dirty_jobs_.insert(active_.begin(), active_.end());
  }
  if (may_decide) {
    for (const job::JobId id : std::exchange(dirty_jobs_, {})) Reconcile(id);
    if (must_schedule_ || now_ >= next_backoff_end_) Schedule();
    RemoveFinished();
  }
  Commit();
  Sweep();
  settled_ = now_;
  auto next = std::min({next_scan_, next_backoff_end_, next_removal_});
  if (must_sweep_) next = std::min(next, next_sweep_);
  if (retry_at_) next = *retry_at_;
  // There is room in the store again: do now what had to wait.
  if (!retry_at_ && must_schedule_) next = now_;
  return next;
}

void Core::Commit() {
  absl::Status status = fatal_;
  const store::Batch batch = transaction_.ToBatch();
  const bool retries = retry_at_ && *retry_at_ <= now_;
  if (status.ok() && batch.empty() && retries) {
    // Nobody asks for a write now, but whether one would succeed is shown.
    status = store_.Probe();
  } else if (status.ok() && !batch.empty()) {
    status = store_.Commit(batch);
    board_.Count([&](Stats& stats) {
      ++(status.ok() ? stats.num_commits : stats.num_commit_failures);
    });
  }
  if (status.ok()) {
    if (!batch.empty() || retries) {
      retry_at_.reset();
      ShowStore(absl::OkStatus());
    }
    Committed();
  } else {
    for (const auto& [id, touched] : transaction_.touched()) {
      if (touched.before != nullptr) dirty_jobs_.insert(id);
    }
    must_schedule_ = true;
    for (const job::JobId id : active_) {
      LiveJob& live = live_.at(id);
      for (const auto& worker : WorkersOf(live.job->LiveAttempt())) {
        live.watch.PostponeDrain(worker, now_);
      }
    }
    transaction_.Drop();
    StoreFailed(status);
  }
  PushDesired();
  for (Answer& answer : std::exchange(answers_, {})) answer(status);
}

void Core::StoreFailed(const absl::Status& status) {
  retry_at_ = now_ + kRetryInterval;
  ShowStore(status);
  if (!fatal_.ok() || absl::IsResourceExhausted(status)) return;
  spdlog::critical("the store failed, this process has to end: {}",
                   status.ToString());
  fatal_ = absl::UnavailableError(
      fmt::format("the store failed: {}", std::string(status.message())));
  if (options_.on_fatal) options_.on_fatal(status);
}

void Core::Committed() {
  for (const auto& [key, offset] : transaction_.offsets()) {
    const auto it = live_.find(key.first.job);
    if (it != live_.end()) it->second.offsets[key.second] = offset;
  }
  for (const job::WorkerId& id : transaction_.forgotten()) {
    spdlog::info("worker {}: forgotten, silent for {}", id.name(),
                 absl::FormatDuration(options_.forget_after));
    fleet_.Forget(id);
    quarantine_.Clear(id);
    board_.ForgetWorker(id);
    shown_.erase(id);
    placed_.erase(id);
    dirty_workers_.erase(id);
  }
  int64_t num_events = 0;
  std::vector<job::JobId> changed;
  for (const auto& [id, state] : transaction_.deleted()) {
    board_.AddTerminal(state, -1);
    finished_.erase(id);
    changed.push_back(id);
  }
  if (!changed.empty()) {
    must_sweep_ = true;
    if (options_.on_removed) options_.on_removed(changed);
  }
  if (const int64_t num_removed = transaction_.num_removed()) {
    spdlog::info("removed {} finished job{}", num_removed,
                 num_removed == 1 ? "" : "s");
    board_.Count([&](Stats& stats) { stats.num_removed_jobs += num_removed; });
  }
  for (const auto& [id, touched] : transaction_.touched()) {
    TakeOver(touched);
    num_events += static_cast<int64_t>(touched.events.size());
    changed.push_back(id);
  }
  transaction_.Clear();
  if (num_events > 0) {
    board_.Count([&](Stats& stats) { stats.num_events += num_events; });
  }
  for (const job::JobId id : changed) board_.WakeJob(id);
}

void Core::TakeOver(const Transaction::Touched& touched) {
  const JobPtr& job = touched.after;
  const job::JobId id = job->id;
  const schedule::QueueKey key{job->spec->priority, job->submit_number};
  const job::Attempt* old_attempt =
      touched.before ? touched.before->LiveAttempt() : nullptr;
  const job::Attempt* attempt = job->LiveAttempt();
  const bool was_queued =
      touched.before && touched.before->state == job::JobState::kQueued;
  const bool same_attempt =
      old_attempt && attempt && old_attempt->number == attempt->number;

  if (!touched.before || touched.before->state != job->state) {
    spdlog::info("{}: {} ({}){}{}", id.ResourceName(), Name(job->state),
                 Name(job->reason), job->message.empty() ? "" : ": ",
                 job->message);
  }
  board_.PublishJob(job, touched.events);
  if (!same_attempt || old_attempt->state != attempt->state) {
    for (const auto& worker : WorkersOf(old_attempt)) {
      dirty_workers_.insert(worker);
    }
    for (const auto& worker : WorkersOf(attempt)) dirty_workers_.insert(worker);
  }
  if (same_attempt || (was_queued && job->state == job::JobState::kQueued)) {
    live_[id].job = job;
    return;
  }
  // A job that is placed in the turn that brought it has waited, too: not long.
  if (attempt != nullptr && (was_queued || !touched.before)) {
    const double waited =
        was_queued ? absl::ToDoubleSeconds(now_ - live_[id].queued_since) : 0;
    board_.Count(
        [&](Stats& stats) { stats.queue_wait.Add(kQueueWaitBounds, waited); });
  }
  if (was_queued) queue_.erase(key);
  active_.erase(id);
  for (const auto& worker : WorkersOf(old_attempt)) placed_[worker].erase(id);
  live_.erase(id);
  if (job->IsTerminal()) {
    could_not_start_.erase(id);
    finished_[id] = now_;
    board_.AddTerminal(job->state, 1);
    return;
  }
  Remember(job, now_);
}

fleet::WorkerState Core::StateOf(const job::WorkerId& id) const {
  const fleet::WorkerState state = fleet_.StateOf(id, now_);
  return state == fleet::WorkerState::kReady && quarantine_.EndOf(id, now_)
             ? fleet::WorkerState::kQuarantined
             : state;
}

std::string Core::MessageOf(const job::WorkerId& id) const {
  if (StateOf(id) != fleet::WorkerState::kQuarantined) {
    return fleet_.MessageOf(id, now_);
  }
  return fmt::format(
      "gets no new work for {}, since {} attempts in a row failed there; "
      "epochctl worker drain {} --undo ends that",
      absl::FormatDuration(quarantine_.TermOf(id)), quarantine_.NumFailures(id),
      id.name());
}

void Core::ShowWorker(const job::WorkerId& id) {
  // A job of before a restart may name a worker that was not heard since.
  const fleet::WorkerRecord* record = fleet_.Find(id);
  if (record == nullptr) return;
  const Shown now{StateOf(id), MessageOf(id)};
  auto [shown, is_new] = shown_.try_emplace(id, now);
  if (!is_new && shown->second == now) return;
  if (!is_new && shown->second.state != now.state) {
    spdlog::info("worker {}: {} -> {}{}{}", id.name(),
                 Name(shown->second.state), Name(now.state),
                 now.message.empty() ? "" : ": ", now.message);
  }
  shown->second = now;
  board_.PublishWorker(*record, now.state, now.message);
  must_schedule_ = true;
  const auto placed = placed_.find(id);
  if (placed != placed_.end()) {
    dirty_jobs_.insert(placed->second.begin(), placed->second.end());
  }
}

void Core::ForgetLostWorkers() {
  for (const auto& id : fleet_.SilentFor(options_.forget_after, now_)) {
    if (const auto placed = placed_.find(id);
        placed == placed_.end() || placed->second.empty()) {
      transaction_.ForgetWorker(id);
    }
  }
}

void Core::ShowStore(const absl::Status& status) {
  if (!board_.SetStoreStatus(status)) return;
  if (status.ok()) {
    spdlog::info("the store takes writes again");
  } else {
    spdlog::error("nothing is accepted until the store takes writes again: {}",
                  std::string(status.message()));
  }
}

}  // namespace epochd::control
