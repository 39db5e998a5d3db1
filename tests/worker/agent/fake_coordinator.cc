// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/agent/fake_coordinator.h"

#include <algorithm>

#include "absl/time/time.h"

namespace epochd::agent {

void FakeCoordinator::Want(std::vector<DesiredAttempt> attempts) {
  const absl::MutexLock lock(&mutex_);
  desired_.attempts = std::move(attempts);
  ++desired_.version;
}

void FakeCoordinator::SetReachable(bool reachable) {
  const absl::MutexLock lock(&mutex_);
  reachable_ = reachable;
}

void FakeCoordinator::ForgetWorker() {
  const absl::MutexLock lock(&mutex_);
  incarnation_.clear();
}

void FakeCoordinator::Supersede() {
  const absl::MutexLock lock(&mutex_);
  superseded_ = true;
}

void FakeCoordinator::SetNameInUse(bool in_use) {
  const absl::MutexLock lock(&mutex_);
  name_in_use_ = in_use;
}

void FakeCoordinator::RefuseAttempt(const std::string& attempt) {
  const absl::MutexLock lock(&mutex_);
  refused_.insert(attempt);
}

void FakeCoordinator::TakeNoLines() {
  const absl::MutexLock lock(&mutex_);
  takes_no_lines_ = true;
}

bool FakeCoordinator::stopping() {
  const absl::MutexLock lock(&mutex_);
  return stopping_;
}

std::string FakeCoordinator::not_ready() {
  const absl::MutexLock lock(&mutex_);
  return not_ready_;
}

std::string FakeCoordinator::folder_id() {
  const absl::MutexLock lock(&mutex_);
  return folder_id_;
}

void FakeCoordinator::LimitLogs(int64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  log_limit_ = bytes;
}

void FakeCoordinator::AddFile(const std::string& sha256,
                              const std::string& content) {
  const absl::MutexLock lock(&mutex_);
  files_[sha256] = content;
}

void FakeCoordinator::Reopen() {
  const absl::MutexLock lock(&mutex_);
  shut_down_ = false;
}

std::string FakeCoordinator::Events(const std::string& attempt, int rank) {
  const absl::MutexLock lock(&mutex_);
  return events_[{attempt, rank}];
}

std::string FakeCoordinator::Log(const std::string& attempt, int rank) {
  const absl::MutexLock lock(&mutex_);
  return logs_[{attempt, rank}];
}

ObservedAttempt FakeCoordinator::Observed(const std::string& attempt) {
  const absl::MutexLock lock(&mutex_);
  const auto it = observed_.find(attempt);
  return it != observed_.end() ? it->second
                               : ObservedAttempt{.state = AttemptState::kEnded};
}

int FakeCoordinator::num_registrations() {
  const absl::MutexLock lock(&mutex_);
  return num_registrations_;
}

int FakeCoordinator::num_refused_registrations() {
  const absl::MutexLock lock(&mutex_);
  return num_refused_;
}

int FakeCoordinator::num_heartbeats() {
  const absl::MutexLock lock(&mutex_);
  return num_heartbeats_;
}

absl::Status FakeCoordinator::Admit(const WorkerInfo& worker) {
  if (shut_down_) return absl::CancelledError("shut down");
  if (!reachable_) return absl::UnavailableError("connection refused");
  if (superseded_) return absl::AbortedError("a newer agent has the name");
  if (worker.incarnation != incarnation_) {
    return absl::NotFoundError("worker is not registered");
  }
  return absl::OkStatus();
}

void FakeCoordinator::TakeIn(const AgentReport& report) {
  stopping_ = report.stopping;
  not_ready_ = report.not_ready;
  observed_.clear();
  for (const ObservedAttempt& attempt : report.attempts) {
    observed_[attempt.name] = attempt;
  }
}

absl::StatusOr<Registered> FakeCoordinator::Register(
    const WorkerInfo& worker, const AgentReport& report) {
  const absl::MutexLock lock(&mutex_);
  const absl::Status admitted = Admit(worker);
  if (!admitted.ok() && admitted.code() != absl::StatusCode::kNotFound) {
    return admitted;
  }
  if (name_in_use_) {
    ++num_refused_;
    return absl::AlreadyExistsError("this name is in use");
  }
  incarnation_ = worker.incarnation;
  folder_id_ = worker.folder_id;
  ++num_registrations_;
  TakeIn(report);
  return Registered{.heartbeat_interval = absl::Milliseconds(50),
                    .desired = desired_,
                    .cluster_id = "fake"};
}

absl::StatusOr<DesiredState> FakeCoordinator::Heartbeat(
    const WorkerInfo& worker, const AgentReport& report) {
  const absl::MutexLock lock(&mutex_);
  if (absl::Status admitted = Admit(worker); !admitted.ok()) return admitted;
  ++num_heartbeats_;
  TakeIn(report);
  return desired_;
}

absl::Status FakeCoordinator::WatchDesired(
    const WorkerInfo& worker,
    const std::function<void(DesiredState)>& changed) {
  int64_t told = -1;
  while (true) {
    DesiredState state;
    {
      const absl::MutexLock lock(&mutex_);
      const auto due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return desired_.version != told || !Admit(worker).ok();
      };
      mutex_.Await(absl::Condition(&due));
      if (absl::Status admitted = Admit(worker); !admitted.ok()) {
        return admitted;
      }
      state = desired_;
      told = state.version;
    }
    changed(std::move(state));
  }
}

absl::StatusOr<int64_t> FakeCoordinator::ReportEvents(
    const WorkerInfo& worker, const std::string& attempt, int rank,
    int64_t offset, std::string lines) {
  const absl::MutexLock lock(&mutex_);
  if (absl::Status admitted = Admit(worker); !admitted.ok()) return admitted;
  if (refused_.count(attempt) > 0) {
    return absl::FailedPreconditionError("not the current attempt");
  }
  if (takes_no_lines_ || lines.empty() || lines.back() != '\n') {
    return absl::InvalidArgumentError("a torn line");
  }
  std::string& known = events_[{attempt, rank}];
  const auto size = static_cast<int64_t>(known.size());
  if (offset <= size) {
    const auto seen = static_cast<size_t>(size - offset);
    if (seen < lines.size()) known += lines.substr(seen);
  }
  return static_cast<int64_t>(known.size());
}

absl::StatusOr<LogAnswer> FakeCoordinator::ReportLogs(
    const WorkerInfo& worker, const std::string& attempt, int rank,
    int64_t offset, std::string data) {
  const absl::MutexLock lock(&mutex_);
  if (absl::Status admitted = Admit(worker); !admitted.ok()) return admitted;
  if (refused_.count(attempt) > 0) {
    return absl::FailedPreconditionError("not the current attempt");
  }
  std::string& known = logs_[{attempt, rank}];
  const auto size = static_cast<int64_t>(known.size());
  if (offset <= size) {
    const auto seen = static_cast<size_t>(size - offset);
    if (seen < data.size()) known += data.substr(seen);
  }
  const bool full = static_cast<int64_t>(known.size()) >= log_limit_;
  if (full) known.resize(static_cast<size_t>(log_limit_));
  return LogAnswer{.next_offset = static_cast<int64_t>(known.size()),
                   .full = full};
}

absl::Status FakeCoordinator::FetchFile(
    const std::string& sha256,
    const std::function<bool(std::string_view)>& sink) {
  std::string content;
  {
    const absl::MutexLock lock(&mutex_);
    const auto it = files_.find(sha256);
    if (it == files_.end()) return absl::NotFoundError("no such file");
    content = it->second;
  }
  for (size_t at = 0; at < content.size(); at += 7) {
    if (!sink(std::string_view(content).substr(at, 7))) {
      return absl::CancelledError("cancelled");
    }
  }
  return absl::OkStatus();
}

void FakeCoordinator::Shutdown() {
  const absl::MutexLock lock(&mutex_);
  shut_down_ = true;
}

}  // namespace epochd::agent
