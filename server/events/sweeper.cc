// SPDX-License-Identifier: Apache-2.0
#include "server/events/sweeper.h"

#include <utility>

#include "absl/time/clock.h"
#include "spdlog/spdlog.h"

namespace epochd::events {
namespace {

constexpr size_t kMaxNoted = 100000;

}  // namespace

Sweeper::Sweeper(Options options, LogStore& logs, FileStore& files)
    : options_(std::move(options)), logs_(logs), files_(files) {}

void Sweeper::Start() {
  thread_ = std::thread([this] { Run(); });
}

Sweeper::~Sweeper() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Sweeper::Remove(const std::vector<job::JobId>& jobs) {
  absl::MutexLock lock(&mutex_);
  if (jobs_.size() + jobs.size() > kMaxNoted) return;
  jobs_.insert(jobs_.end(), jobs.begin(), jobs.end());
}

bool Sweeper::IsStopping() const {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

void Sweeper::Run() {
  absl::Time next_look = absl::InfinitePast();
  while (true) {
    if (absl::Now() >= next_look) {
      LookThroughAll();
      next_look = absl::Now() + options_.interval;
    }
    std::vector<job::JobId> jobs;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(this, &Sweeper::MustWake),
                              options_.interval);
      if (stopping_) return;
      jobs.swap(jobs_);
    }
    for (const job::JobId job : jobs) {
      if (IsStopping()) return;
      RemoveLogs(job);
    }
  }
}

void Sweeper::RemoveLogs(job::JobId job) {
  const absl::Status status = logs_.Delete(job);
  if (status.ok()) return;
  spdlog::error("logs of {} cannot be removed: {}", job.ResourceName(),
                std::string(status.message()));
}

void Sweeper::LookThroughAll() {
  const auto jobs = logs_.Jobs();
  if (!jobs.ok()) {
    spdlog::error("logs cannot be looked through: {}",
                  std::string(jobs.status().message()));
  } else {
    for (const job::JobId job : *jobs) {
      if (IsStopping()) return;
      const auto keeps = options_.keeps_job(job);
      if (keeps.ok() && !*keeps) RemoveLogs(job);
    }
  }
  const auto files = files_.List();
  if (!files.ok()) {
    spdlog::error("uploaded files cannot be looked through: {}",
                  std::string(files.status().message()));
    return;
  }
  const absl::Time cutoff = absl::Now() - options_.keep_files_for;
  for (const std::string& sha256 : *files) {
    if (IsStopping()) return;
    const auto uses = options_.uses_file(sha256);
    if (!uses.ok() || *uses) continue;
    const absl::Status status = files_.RemoveUnlessUsedSince(sha256, cutoff);
    if (status.ok()) continue;
    spdlog::error("an uploaded file that no job uses cannot be removed: {}",
                  std::string(status.message()));
  }
}

}  // namespace epochd::events
