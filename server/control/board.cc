// SPDX-License-Identifier: Apache-2.0
#include "server/control/board.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace epochd::control {

std::string JobView::Etag() const {
  return fmt::format("{:x}", job->last_sequence);
}

void Board::SetTerminalCounts(std::map<job::JobState, int64_t> counts) {
  absl::MutexLock lock(&mutex_);
  terminal_ = std::move(counts);
}

void Board::AddTerminal(job::JobState state, int64_t change) {
  absl::MutexLock lock(&mutex_);
  terminal_[state] += change;
}

int64_t Board::NumTerminal() const {
  absl::ReaderMutexLock lock(&mutex_);
  int64_t sum = 0;
  for (const auto& [state, number] : terminal_) sum += number;
  return sum;
}

void Board::PublishJob(JobPtr job, const std::vector<job::Event>& events) {
  absl::MutexLock lock(&mutex_);
  if (job->IsTerminal()) {
    live_.erase(job->id);
    return;
  }
  LiveJob& live = live_[job->id];
  for (const job::Event& event : events) {
    live.tail.push_back(std::make_shared<job::Event>(event));
  }
  while (live.tail.size() > static_cast<size_t>(tail_events_)) {
    live.tail.pop_front();
  }
  if (live.progress && job->LiveAttempt() == nullptr) live.progress.reset();
  live.job = std::move(job);
}

void Board::PublishWaiting(std::shared_ptr<const WaitingMap> waiting) {
  // Frees the old map outside the lock.
  absl::MutexLock lock(&mutex_);
  waiting_.swap(waiting);
}

void Board::PublishProgress(job::JobId id, job::AttemptNumber attempt,
                            absl::Time time, job::Progress progress) {
  absl::MutexLock lock(&mutex_);
  const auto it = live_.find(id);
  if (it == live_.end()) return;
  it->second.progress =
      NumberedProgress{++progress_number_, time, attempt, std::move(progress)};
}

void Board::PublishWorker(const fleet::WorkerRecord& record,
                          fleet::WorkerState state, std::string message) {
  absl::MutexLock lock(&mutex_);
  Worker& worker = workers_[record.id];
  worker.record = record;
  worker.state = state;
  worker.message = std::move(message);
}

void Board::PublishSeen(const job::WorkerId& id, absl::Time time) {
  absl::MutexLock lock(&mutex_);
  workers_[id].seen = time;
}

void Board::PublishDesired(const job::WorkerId& id, DesiredPtr desired) {
  std::vector<std::shared_ptr<Subscriber<absl::StatusOr<DesiredPtr>>>> watchers;
  {
    absl::MutexLock lock(&mutex_);
    Worker& worker = workers_[id];
    worker.desired = desired;
    watchers = worker.watchers.All();
  }
  const absl::StatusOr<DesiredPtr> news(std::move(desired));
  for (const auto& watcher : watchers) watcher->Call(news);
}

void Board::Supersede(const job::WorkerId& id,
                      const job::Incarnation& current) {
  std::vector<std::shared_ptr<Subscriber<absl::StatusOr<DesiredPtr>>>> watchers;
  {
    absl::MutexLock lock(&mutex_);
    Worker& worker = workers_[id];
    if (worker.record.incarnation == current) return;
    watchers = worker.watchers.All();
    worker.watchers = {};
  }
  const absl::StatusOr<DesiredPtr> news(absl::AbortedError(fmt::format(
      "{}: a newer agent has taken this name over, stop", id.ResourceName())));
  for (const auto& watcher : watchers) {
    watcher->Call(news);
    watcher->End();
  }
}

void Board::ForgetWorker(const job::WorkerId& id) {
  std::vector<std::shared_ptr<Subscriber<absl::StatusOr<DesiredPtr>>>> watchers;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = workers_.find(id);
    if (it == workers_.end()) return;
    watchers = it->second.watchers.All();
    workers_.erase(it);
  }
  const absl::StatusOr<DesiredPtr> news(absl::NotFoundError(
      fmt::format("{}: is not known here, register first", id.ResourceName())));
  for (const auto& watcher : watchers) {
    watcher->Call(news);
    watcher->End();
  }
}

bool Board::SetStoreStatus(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  const bool changed = status.ok() != store_status_.ok();
  store_status_ = std::move(status);
  return changed;
}

absl::Status Board::StoreStatus() const {
  absl::ReaderMutexLock lock(&mutex_);
  return store_status_;
}

void Board::WakeJob(job::JobId id) {
  std::vector<std::shared_ptr<Subscriber<std::monostate>>> watchers;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = job_watchers_.find(id);
    if (it == job_watchers_.end()) return;
    watchers = it->second.All();
    if (watchers.empty()) job_watchers_.erase(it);
  }
  for (const auto& watcher : watchers) watcher->Call({});
}

void Board::Count(const std::function<void(Stats&)>& change) {
  absl::MutexLock lock(&mutex_);
  change(sums_);
}

// ---- jobs
// ---------------------------------------------------------------------

JobView Board::ViewLocked(const JobPtr& job) const {
  JobView view{job, job->reason, job->message, 0, std::nullopt};
  if (const auto it = live_.find(job->id);
      it != live_.end() && it->second.progress) {
    view.progress = it->second.progress->progress;
  }
  if (job->state != job::JobState::kQueued) return view;
  if (const auto it = waiting_->find(job->id); it != waiting_->end()) {
    view.reason = it->second.reason;
    view.message = it->second.message;
    view.queue_position = it->second.position;
  }
  return view;
}

absl::StatusOr<JobView> Board::Get(job::JobId id) const {
  {
    absl::ReaderMutexLock lock(&mutex_);
    const auto it = live_.find(id);
    if (it != live_.end()) return ViewLocked(it->second.job);
  }
  auto job = store_.ReadJob(id);
  if (!job.ok()) return job.status();
  absl::ReaderMutexLock lock(&mutex_);
  return ViewLocked(*job);
}

absl::StatusOr<JobViewPage> Board::List(const store::ListQuery& query) const {
  auto page = store_.ListJobs(query);
  if (!page.ok()) return page.status();
  JobViewPage views;
  views.next_before = page->next_before;
  views.jobs.reserve(page->jobs.size());
  absl::ReaderMutexLock lock(&mutex_);
  for (const JobPtr& job : page->jobs) views.jobs.push_back(ViewLocked(job));
  return views;
}

absl::StatusOr<EventPage> Board::ReadEvents(job::JobId id, int64_t after,
                                            int32_t limit) const {
  EventPage page;
  after = std::max<int64_t>(after, 0);
  bool is_live = false;
  {
    absl::ReaderMutexLock lock(&mutex_);
    const auto it = live_.find(id);
    if (it != live_.end()) {
      is_live = true;
      page.last_sequence = it->second.job->last_sequence;
      if (after >= page.last_sequence) return page;
      const auto& tail = it->second.tail;
      if (!tail.empty() && tail.front()->sequence <= after + 1) {
        auto next = tail.begin() + (after + 1 - tail.front()->sequence);
        for (; next != tail.end() &&
               page.events.size() < static_cast<size_t>(limit);
             ++next) {
          page.events.push_back(*next);
        }
        return page;
      }
    }
  }
  if (!is_live) {
    // Not on the board, so terminal: its last event is stored.
    auto job = store_.ReadJob(id);
    if (!job.ok()) return job.status();
    page.last_sequence = (*job)->last_sequence;
    page.finished = (*job)->IsTerminal();
    if (after >= page.last_sequence) return page;
  }
  auto events = store_.ReadEvents(id, after, limit);
  if (!events.ok()) return events.status();
  page.events.reserve(events->size());
  for (job::Event& event : *events) {
    page.events.push_back(std::make_shared<job::Event>(std::move(event)));
  }
  return page;
}

std::optional<NumberedProgress> Board::ReadProgress(job::JobId id,
                                                    int64_t after) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto it = live_.find(id);
  if (it == live_.end() || !it->second.progress ||
      it->second.progress->number <= after) {
    return std::nullopt;
  }
  return it->second.progress;
}

absl::StatusOr<std::unique_ptr<Subscription>> Board::WatchJob(
    job::JobId id, std::function<void()> wake) {
  using Call = Subscriber<std::monostate>;
  auto subscriber = std::make_shared<Call>(
      [wake = std::move(wake)](std::monostate) { wake(); });
  {
    absl::MutexLock lock(&mutex_);
    if (job_watchers_.size() >= sweep_at_) {
      std::erase_if(job_watchers_,
                    [](const auto& item) { return item.second.empty(); });
      sweep_at_ = std::max<size_t>(64, 2 * job_watchers_.size());
    }
    job_watchers_[id].Add(subscriber);
  }
  // Looks only now, so that a deletion in between is told.
  if (auto view = Get(id); !view.ok()) return view.status();
  return std::make_unique<SubscriberHandle<std::monostate>>(
      std::move(subscriber));
}

// ---- workers
// ------------------------------------------------------------------

std::map<job::WorkerId, std::map<std::string, job::AttemptId>>
Board::HeldLocked() const {
  std::map<job::WorkerId, std::map<std::string, job::AttemptId>> held;
  for (const auto& [id, live] : live_) {
    const job::Attempt* attempt = live.job->LiveAttempt();
    if (attempt == nullptr) continue;
    for (const job::RankPlacement& rank : attempt->ranks) {
      for (const std::string& device : rank.devices) {
        held[rank.worker][device] = {id, attempt->number};
      }
    }
  }
  return held;
}

fleet::WorkerView Board::ViewLocked(const Worker& worker) const {
  return {worker.record, worker.state, worker.message, worker.seen, {}};
}

std::vector<fleet::WorkerView> Board::ListWorkers() const {
  absl::ReaderMutexLock lock(&mutex_);
  auto held = HeldLocked();
  std::vector<fleet::WorkerView> views;
  views.reserve(workers_.size());
  for (const auto& [id, worker] : workers_) {
    views.push_back(ViewLocked(worker));
    views.back().held = std::move(held[id]);
  }
  return views;
}

absl::StatusOr<fleet::WorkerView> Board::GetWorker(
    const job::WorkerId& id) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto it = workers_.find(id);
  if (it == workers_.end()) {
    return absl::NotFoundError(
        fmt::format("{}: no such worker", id.ResourceName()));
  }
  auto view = ViewLocked(it->second);
  view.held = std::move(HeldLocked()[id]);
  return view;
}

absl::Status Board::Admit(const job::WorkerId& worker,
                          const job::Incarnation& incarnation,
                          const job::AttemptId& attempt, int32_t rank) const {
  absl::MutexLock lock(&mutex_);
  const auto known = workers_.find(worker);
  if (known == workers_.end()) {
    return absl::NotFoundError(fmt::format(
        "{}: is not known here, register first", worker.ResourceName()));
  }
  if (known->second.record.incarnation != incarnation) {
    ++sums_.num_fenced;
    return absl::AbortedError(
        fmt::format("{}: a newer agent has taken this name over, stop",
                    worker.ResourceName()));
  }
  const auto it = live_.find(attempt.job);
  const job::Attempt* live =
      it == live_.end() ? nullptr : it->second.job->LiveAttempt();
  if (live == nullptr || live->number != attempt.number) {
    ++sums_.num_fenced;
    return absl::FailedPreconditionError(fmt::format(
        "{}: is not the live attempt, stop it", attempt.ResourceName()));
  }
  const auto index = static_cast<size_t>(rank);
  if (index >= live->ranks.size() || live->ranks[index].worker != worker) {
    return absl::InvalidArgumentError(
        fmt::format("{}: rank {} does not run on {}", attempt.ResourceName(),
                    rank, worker.ResourceName()));
  }
  return absl::OkStatus();
}

Board::DesiredPtr Board::Desired(const job::WorkerId& id) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto it = workers_.find(id);
  return it == workers_.end() ? nullptr : it->second.desired;
}

absl::StatusOr<std::unique_ptr<Subscription>> Board::WatchDesired(
    const job::WorkerId& worker, const job::Incarnation& incarnation,
    DesiredCallback changed) {
  using News = absl::StatusOr<DesiredPtr>;
  auto subscriber = std::make_shared<Subscriber<News>>(std::move(changed));
  DesiredPtr now;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = workers_.find(worker);
    if (it == workers_.end()) {
      return absl::NotFoundError(fmt::format(
          "{}: is not known here, register first", worker.ResourceName()));
    }
    if (it->second.record.incarnation != incarnation) {
      return absl::AbortedError(
          fmt::format("{}: a newer agent has taken this name over, stop",
                      worker.ResourceName()));
    }
    it->second.watchers.Add(subscriber);
    now = it->second.desired;
  }
  // May run beside a newer one from the controller's thread; the version tells.
  if (now != nullptr) subscriber->Call(News(std::move(now)));
  return std::make_unique<SubscriberHandle<News>>(std::move(subscriber));
}

// ---- sums
// ---------------------------------------------------------------------

Stats Board::GetStats() const {
  absl::ReaderMutexLock lock(&mutex_);
  Stats stats = sums_;
  for (const job::JobState state : job::AllJobStates()) stats.jobs[state] = 0;
  for (const auto& [state, number] : terminal_) stats.jobs[state] = number;
  for (const auto& [id, live] : live_) {
    ++stats.jobs[live.job->state];
    if (live.job->state != job::JobState::kQueued) {
      stats.active_jobs.push_back(ViewLocked(live.job));
    }
  }
  for (const auto state : fleet::AllWorkerStates()) stats.workers[state] = 0;
  const auto held = HeldLocked();
  for (const auto& [id, worker] : workers_) {
    ++stats.workers[worker.state];
    if (worker.state == fleet::WorkerState::kLost) continue;
    const auto held_here = held.find(id);
    for (const fleet::Device& device : worker.record.devices) {
      DeviceCount& count = stats.devices[device.kind];
      ++count.total;
      if (held_here != held.end() && held_here->second.contains(device.id)) {
        ++count.held;
      }
    }
  }
  return stats;
}

}  // namespace epochd::control
