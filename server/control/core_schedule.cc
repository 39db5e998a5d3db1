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
namespace {

// Names the storage folder that workers have in common.
constexpr char kStorageLabel[] = "storage";

}  // namespace

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
    if (auto notice = StorageNotice(*Current(id), workers); !notice.empty()) {
      Decide(
          id, number,
          job::Notice{job::Notice::Severity::kWarning, std::move(notice), 0});
    }
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

bool Core::ShareStorage(const std::set<job::WorkerId>& workers) const {
  std::set<std::string> names;
  for (const job::WorkerId& id : workers) {
    const fleet::WorkerRecord* worker = fleet_.Find(id);
    if (worker == nullptr) return false;
    const auto label = worker->labels.find(kStorageLabel);
    if (label == worker->labels.end() || label->second.empty()) return false;
    names.insert(label->second);
  }
  return names.size() <= 1;
}

std::optional<job::WorkerId> Core::HolderOf(const job::Job& job) const {
  // A path of the user's own may well be seen by all.
  if (job.checkpoints.empty() || !job.spec->storage.empty()) {
    return std::nullopt;
  }
  const auto attempt =
      static_cast<size_t>(job.checkpoints.back().attempt.value()) - 1;
  if (attempt >= job.attempts.size()) return std::nullopt;
  const auto& ranks = job.attempts[attempt].ranks;
  if (ranks.empty()) return std::nullopt;
  const job::WorkerId& worker = ranks.front().worker;
  const bool on_one =
      std::all_of(ranks.begin(), ranks.end(),
                  [&](const auto& rank) { return rank.worker == worker; });
  return on_one ? std::optional(worker) : std::nullopt;
}

std::optional<job::WorkerId> Core::PreferredBy(const job::Job& job) const {
  auto holder = HolderOf(job);
  if (!holder) return holder;
  const fleet::WorkerRecord* worker = fleet_.Find(*holder);
  // One that says so shares its storage with others.
  if (worker == nullptr || worker->labels.contains(kStorageLabel)) {
    return std::nullopt;
  }
  return holder;
}

std::string Core::StorageNotice(const job::Job& job,
                                const std::set<job::WorkerId>& workers) const {
  if (!job.spec->storage.empty()) return "";
  if (const auto holder = HolderOf(job)) {
    std::set<job::WorkerId> all = workers;
    all.insert(*holder);
    if (all.size() == 1 || ShareStorage(all)) return "";
    return fmt::format(
        "its checkpoints were written on {}: it goes on from them only where "
        "--storage is the same folder, else it begins anew; workers that share "
        "one say so with the label {}=NAME",
        holder->name(), kStorageLabel);
  }
  if (workers.size() == 1 || !job.checkpoints.empty() ||
      ShareStorage(workers)) {
    return "";
  }
  return fmt::format(
      "its ranks are on {} workers: after a restart it goes on from a "
      "checkpoint only if --storage is one folder for all of them, else it "
      "begins anew; workers that share one say so with the label {}=NAME",
      workers.size(), kStorageLabel);
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
    entries.push_back({key,
                       {.id = id,
                        .spec = live.job->spec.get(),
                        .not_before = live.not_before,
                        .prefer = PreferredBy(*live.job)}});
  }
  const size_t num_committed = entries.size();
  for (const auto& [id, touched] : transaction_.touched()) {
    const job::Job& job = *touched.after;
    if (job.state != job::JobState::kQueued) continue;
    entries.push_back({{job.spec->priority, job.submit_number},
                       {.id = id,
                        .spec = job.spec.get(),
                        .not_before = now_ + job::BackoffOf(job),
                        .prefer = PreferredBy(job)}});
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
    const auto state = StateOf(worker->id);
    index[worker->id] = offers.size();
    schedule::Offer offer;
    offer.worker = worker;
    offer.usable = state == fleet::WorkerState::kReady;
    offer.connected = state != fleet::WorkerState::kLost;
    if (state == fleet::WorkerState::kNotReady ||
        state == fleet::WorkerState::kQuarantined) {
      offer.not_ready = MessageOf(worker->id);
    }
    if (state == fleet::WorkerState::kQuarantined) {
      offer.rests_until = absl::FormatTime(
          "%H:%M:%S UTC",
          clock_.Wall() + (*quarantine_.EndOf(worker->id, now_) - now_),
          absl::UTCTimeZone());
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
