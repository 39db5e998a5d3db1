// SPDX-License-Identifier: Apache-2.0
#include "server/control/transaction.h"

#include <algorithm>

namespace epochd::control {

absl::Status Transaction::Emit(job::JobId id,
                               const std::shared_ptr<const job::Job>& before,
                               job::AttemptNumber attempt, absl::Time time,
                               job::EventBody body) {
  const auto it = jobs_.find(id);
  if (it != jobs_.end()) {
    return Append(it->second, attempt, time, std::move(body));
  }
  Touched touched;
  touched.before = before;
  if (before == nullptr) {
    touched.after = std::make_shared<job::Job>();
    touched.after->id = id;
  } else {
    touched.after = std::make_shared<job::Job>(*before);
  }
  auto status = Append(touched, attempt, time, std::move(body));
  if (status.ok()) jobs_.emplace(id, std::move(touched));
  return status;
}

absl::Status Transaction::Append(Touched& touched, job::AttemptNumber attempt,
                                 absl::Time time, job::EventBody body) {
  job::Event event{touched.after->last_sequence + 1, time, attempt,
                   std::move(body)};
  auto status = job::Apply(*touched.after, event);
  if (status.ok()) touched.events.push_back(std::move(event));
  return status;
}

void Transaction::AddRequest(std::string request_id, job::JobId job) {
  requests_[std::move(request_id)] = job;
}

void Transaction::SetWorker(fleet::WorkerRecord record) {
  const job::WorkerId id = record.id;
  workers_[id] = std::move(record);
}

void Transaction::SetOffset(const job::AttemptId& attempt, int32_t rank,
                            int64_t offset) {
  offsets_[{attempt, rank}] = offset;
}

void Transaction::DeleteJob(job::JobId id, job::JobState state,
                            std::string request_id) {
  deleted_.emplace(id, state);
  if (!request_id.empty()) deletions_[std::move(request_id)] = id;
}

void Transaction::ForgetWorker(job::WorkerId id) {
  workers_.erase(id);
  forgotten_.push_back(std::move(id));
}

void Transaction::OnDrop(std::function<void()> undo) {
  undo_.push_back(std::move(undo));
}

const job::Job* Transaction::Find(job::JobId id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : it->second.after.get();
}

std::optional<job::JobId> Transaction::FindRequest(
    const std::string& request_id) const {
  const auto it = requests_.find(request_id);
  if (it == requests_.end()) return std::nullopt;
  return it->second;
}

std::optional<int64_t> Transaction::FindOffset(const job::AttemptId& attempt,
                                               int32_t rank) const {
  const auto it = offsets_.find({attempt, rank});
  if (it == offsets_.end()) return std::nullopt;
  return it->second;
}

bool Transaction::Deletes(job::JobId id) const { return deleted_.contains(id); }

std::optional<job::JobId> Transaction::FindDeletion(
    const std::string& request_id) const {
  const auto it = deletions_.find(request_id);
  if (it == deletions_.end()) return std::nullopt;
  return it->second;
}

store::Batch Transaction::ToBatch() const {
  store::Batch batch;
  batch.jobs.reserve(jobs_.size());
  for (const auto& [id, touched] : jobs_) {
    batch.jobs.push_back({touched.after, touched.events});
  }
  // The order of a batch does not matter to the store, but a replayed run has
  // to make the same one.
  std::sort(batch.jobs.begin(), batch.jobs.end(),
            [](const store::JobWrite& a, const store::JobWrite& b) {
              return a.job->submit_number < b.job->submit_number;
            });
  for (const auto& [request_id, job] : requests_) {
    batch.requests.push_back({request_id, job});
  }
  for (const auto& [id, record] : workers_) batch.workers.push_back(record);
  for (const auto& [key, offset] : offsets_) {
    batch.offsets.push_back({key.first, key.second, offset});
  }
  for (const auto& [id, state] : deleted_) batch.deleted_jobs.push_back(id);
  for (const auto& [request_id, job] : deletions_) {
    batch.deletions.push_back({request_id, job});
  }
  batch.forgotten_workers = forgotten_;
  return batch;
}

void Transaction::Clear() { *this = Transaction(); }

void Transaction::Drop() {
  for (auto it = undo_.rbegin(); it != undo_.rend(); ++it) (*it)();
  Clear();
}

}  // namespace epochd::control
