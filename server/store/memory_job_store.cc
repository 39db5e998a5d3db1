// SPDX-License-Identifier: Apache-2.0
#include "server/store/memory_job_store.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/store/batch_check.h"

namespace epochd::store {
namespace {

absl::Status NoJob(job::JobId id) {
  return absl::NotFoundError(absl::StrCat(id.ResourceName(), ": not found"));
}

bool Matches(const job::Job& job, const ListQuery& query) {
  if (!query.states.empty() &&
      std::find(query.states.begin(), query.states.end(), job.state) ==
          query.states.end()) {
    return false;
  }
  if (!query.project.empty() && job.spec->project != query.project) {
    return false;
  }
  return std::all_of(query.labels.begin(), query.labels.end(),
                     [&](const auto& wanted) {
                       const auto found = job.spec->labels.find(wanted.first);
                       return found != job.spec->labels.end() &&
                              found->second == wanted.second;
                     });
}

}  // namespace

absl::StatusOr<Snapshot> MemoryJobStore::Load() {
  absl::MutexLock lock(&mutex_);
  Snapshot snapshot;
  snapshot.generation = ++generation_;
  snapshot.next_submit_number = next_submit_number_;
  snapshot.cluster_id = cluster_id_;
  for (const job::JobState state : job::AllJobStates()) {
    snapshot.num_jobs[state] = 0;
  }
  for (const auto& [number, id] : by_number_) {
    const Entry& entry = jobs_.at(id);
    ++snapshot.num_jobs[entry.job->state];
    if (entry.job->IsTerminal()) continue;
    snapshot.live_jobs.push_back(entry.job);
    for (const auto& [key, offset] : entry.offsets) {
      snapshot.offsets.push_back({{id, key.first}, key.second, offset});
    }
  }
  for (const auto& [id, worker] : workers_) snapshot.workers.push_back(worker);
  return snapshot;
}

absl::Status MemoryJobStore::CheckLocked(const Batch& batch) const {
  if (absl::Status status = CheckBatch(batch); !status.ok()) return status;
  for (const JobWrite& write : batch.jobs) {
    const auto stored = jobs_.find(write.job->id);
    const bool begins =
        !write.events.empty() && write.events.front().sequence == 1;
    const auto number = by_number_.find(write.job->submit_number);
    if (begins != (stored == jobs_.end()) ||
        (number != by_number_.end() && number->second != write.job->id)) {
      return absl::InternalError(
          absl::StrCat("batch: ", write.job->id.ResourceName(),
                       ": stored already, or continued without a beginning"));
    }
  }
  for (const RequestRecord& request : batch.requests) {
    if (requests_.contains(request.request_id)) {
      return absl::InternalError(absl::StrCat(
          "batch: request_id stored already, '", request.request_id, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status MemoryJobStore::Commit(const Batch& batch) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status status = CheckLocked(batch); !status.ok()) return status;
  for (const JobWrite& write : batch.jobs) {
    Entry& entry = jobs_[write.job->id];
    entry.job = write.job;
    entry.events.insert(entry.events.end(), write.events.begin(),
                        write.events.end());
    by_number_[write.job->submit_number] = write.job->id;
    if (write.job->end_time) {
      by_end_.emplace(*write.job->end_time, write.job->id);
    }
    next_submit_number_ =
        std::max(next_submit_number_, write.job->submit_number + 1);
  }
  for (const RequestRecord& request : batch.requests) {
    if (jobs_.contains(request.job)) {
      requests_[request.request_id] = request.job;
    }
  }
  for (const fleet::WorkerRecord& worker : batch.workers) {
    workers_[worker.id] = worker;
  }
  for (const EventOffset& offset : batch.offsets) {
    const auto found = jobs_.find(offset.attempt.job);
    if (found == jobs_.end()) continue;
    found->second.offsets[{offset.attempt.number, offset.rank}] =
        offset.next_offset;
  }
  for (const job::JobId id : batch.deleted_jobs) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;
    by_number_.erase(found->second.job->submit_number);
    if (const auto& end = found->second.job->end_time)
      by_end_.erase({*end, id});
    jobs_.erase(found);
    std::erase_if(requests_, [&](const auto& r) { return r.second == id; });
  }
  for (const RequestRecord& deletion : batch.deletions) {
    deletions_.push_back(deletion);
    if (deletions_.size() > kDeletionsKept) deletions_.pop_front();
  }
  for (const job::WorkerId& id : batch.forgotten_workers) workers_.erase(id);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FinishedJob>> MemoryJobStore::FinishedJobs(
    int32_t limit) {
  absl::MutexLock lock(&mutex_);
  std::vector<FinishedJob> jobs;
  for (const auto& [end, id] : by_end_) {
    if (static_cast<int32_t>(jobs.size()) >= limit) break;
    jobs.push_back({id, jobs_.at(id).job->state, end});
  }
  return jobs;
}

absl::StatusOr<bool> MemoryJobStore::UsesFile(std::string_view sha256) const {
  absl::MutexLock lock(&mutex_);
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& item) {
    const auto& files = item.second.job->spec->files;
    return std::any_of(
        files.begin(), files.end(),
        [&](const job::FileRef& file) { return file.sha256 == sha256; });
  });
}

absl::StatusOr<std::shared_ptr<const job::Job>> MemoryJobStore::ReadJob(
    job::JobId id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return NoJob(id);
  return found->second.job;
}

absl::StatusOr<std::vector<job::Event>> MemoryJobStore::ReadEvents(
    job::JobId id, int64_t after, int32_t limit) const {
  absl::MutexLock lock(&mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return NoJob(id);
  const auto& events = found->second.events;
  const auto size = static_cast<int64_t>(events.size());
  const int64_t first = std::clamp<int64_t>(after, 0, size);
  const int64_t last = std::min<int64_t>(size, first + std::max(limit, 0));
  return std::vector<job::Event>(events.begin() + first, events.begin() + last);
}

absl::StatusOr<JobPage> MemoryJobStore::ListJobs(const ListQuery& query) const {
  absl::MutexLock lock(&mutex_);
  JobPage page;
  const auto limit = static_cast<std::size_t>(std::max(query.limit, 1));
  auto next = by_number_.lower_bound(
      query.before.value_or(std::numeric_limits<int64_t>::max()));
  while (next != by_number_.begin()) {
    --next;
    const auto& job = jobs_.at(next->second).job;
    if (!Matches(*job, query)) continue;
    if (page.jobs.size() == limit) {
      page.next_before = page.jobs.back()->submit_number;
      break;
    }
    page.jobs.push_back(job);
  }
  return page;
}

absl::StatusOr<job::JobId> MemoryJobStore::FindRequest(
    std::string_view request_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = requests_.find(request_id);
  if (found == requests_.end()) {
    return absl::NotFoundError(absl::StrCat("request_id: not seen before, '",
                                            std::string(request_id), "'"));
  }
  return found->second;
}

absl::StatusOr<job::JobId> MemoryJobStore::FindDeletion(
    std::string_view request_id) const {
  absl::MutexLock lock(&mutex_);
  for (const RequestRecord& deletion : deletions_) {
    if (deletion.request_id == request_id) return deletion.job;
  }
  return absl::NotFoundError(absl::StrCat("request_id: not seen before, '",
                                          std::string(request_id), "'"));
}

}  // namespace epochd::store
