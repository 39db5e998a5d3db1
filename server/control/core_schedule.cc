// SPDX-License-Identifier: Apache-2.0
//
// Puts the question to schedule::Plan and turns its answer into events.
#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "server/control/core.h"
#include "server/job/restart.h"

namespace epochd::control {

void Core::Schedule() {
  const fleet::SteadyTime began = clock_.Steady();
  must_schedule_ = false;
  const auto queue = Queue();
  next_backoff_end_ = fleet::SteadyTime::InfiniteFuture();
  for (const schedule::QueuedJob& queued : queue) {
    if (queued.not_before > now_) {
      next_backoff_end_ = std::min(next_backoff_end_, queued.not_before);
    }
  }
  const auto offers = Offers();
  auto decision = schedule::Plan(now_, queue, offers);
  for (schedule::Assignment& assignment : decision.assignments) {
    const job::JobId id = assignment.job;
    const auto number = Current(id)->CurrentAttempt().Next();
    std::set<job::WorkerId> workers;
    for (const auto& rank : assignment.ranks) workers.insert(rank.worker);
    const size_t num_ranks = assignment.ranks.size();
    std::string message = fmt::format(
        "attempt {}: {} rank{} on {}", number.value(), num_ranks,
        num_ranks == 1 ? "" : "s",
        workers.size() == 1 ? workers.begin()->name()
                            : fmt::format("{} workers", workers.size()));
    Decide(id, number,
           job::AttemptStateChanged{job::AttemptState::kAssigned,
                                    job::AttemptReason::kUnspecified,
                                    "",
                                    std::move(assignment.ranks),
                                    {},
                                    false});
    Decide(id, job::AttemptNumber(),
           job::JobStateChanged{job::JobState::kStarting,
                                job::JobReason::kAssigned, std::move(message)});
  }
  auto waiting = std::make_shared<Board::WaitingMap>();
  waiting->reserve(decision.waiting.size());
  for (schedule::Waiting& one : decision.waiting) {
    waiting->emplace(one.job, std::move(one));
  }
  board_.PublishWaiting(std::move(waiting));
  board_.Count([&](Stats& stats) {
    stats.scheduler_pass.Add(kSchedulerPassBounds,
                             absl::ToDoubleSeconds(clock_.Steady() - began));
  });
}

std::vector<schedule::QueuedJob> Core::Queue() const {
  struct Entry {
    schedule::QueueKey key;
    schedule::QueuedJob job;
  };
  std::vector<Entry> entries;
  entries.reserve(queue_.size());
  for (const auto& [key, id] : queue_) {
    if (transaction_.Find(id) != nullptr) continue;
    const LiveJob& live = live_.at(id);
    entries.push_back({key, {id, live.job->spec.get(), live.not_before}});
  }
  const size_t num_committed = entries.size();
  for (const auto& [id, touched] : transaction_.touched()) {
    const job::Job& job = *touched.after;
    if (job.state != job::JobState::kQueued) continue;
    entries.push_back({{job.spec->priority, job.submit_number},
                       {id, job.spec.get(), now_ + job::BackoffOf(job)}});
  }
  const auto before = [](const Entry& a, const Entry& b) {
    return a.key < b.key;
  };
  std::sort(entries.begin() + num_committed, entries.end(), before);
  std::inplace_merge(entries.begin(), entries.begin() + num_committed,
                     entries.end(), before);
  std::vector<schedule::QueuedJob> queue;
  queue.reserve(entries.size());
  for (Entry& entry : entries) {
    const auto avoid = could_not_start_.find(entry.job.id);
    if (avoid != could_not_start_.end()) entry.job.avoid = avoid->second;
    queue.push_back(std::move(entry.job));
  }
  return queue;
}

std::vector<schedule::Offer> Core::Offers() const {
  std::vector<schedule::Offer> offers;
  std::map<job::WorkerId, size_t> index;
  for (const fleet::WorkerRecord* worker : fleet_.All()) {
    const auto state = fleet_.StateOf(worker->id, now_);
    index[worker->id] = offers.size();
    schedule::Offer offer;
    offer.worker = worker;
    offer.usable = state == fleet::WorkerState::kReady;
    offer.connected = state != fleet::WorkerState::kLost;
    if (state == fleet::WorkerState::kNotReady) {
      offer.not_ready = fleet_.MessageOf(worker->id, now_);
    }
    offer.present = offer.connected && !worker->draining &&
                    !fleet_.IsStopping(worker->id) && offer.not_ready.empty();
    offers.push_back(std::move(offer));
  }
  for (const job::JobId id : active_) {
    const job::Job& job = *Current(id);
    const job::Attempt* attempt = job.LiveAttempt();
    if (attempt == nullptr) continue;
    for (const job::RankPlacement& rank : attempt->ranks) {
      const auto it = index.find(rank.worker);
      if (it == index.end()) continue;
      schedule::Offer& offer = offers[it->second];
      offer.held.insert(offer.held.end(), rank.devices.begin(),
                        rank.devices.end());
      offer.memory_held += job.spec->resources.memory_bytes;
    }
  }
  return offers;
}

}  // namespace epochd::control
