// SPDX-License-Identifier: Apache-2.0
//
// A coordinator in memory, behind the agent's transport: keeps what it is told
// as the real one does, by offset, and can be made unreachable.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "worker/agent/transport.h"

namespace epochd::agent {

class FakeCoordinator final : public Transport {
 public:
  // ---- what a test does ---------------------------------------------------

  // Wants this, as the next version.
  void Want(std::vector<DesiredAttempt> attempts);
  // Fails all calls with UNAVAILABLE until told otherwise.
  void SetReachable(bool reachable);
  // Forgets the worker, as a coordinator with a new store does.
  void ForgetWorker();
  // A newer agent took the name.
  void Supersede();
  // An agent on another work folder has the name, or has it no more.
  void SetNameInUse(bool in_use);
  void RefuseAttempt(const std::string& attempt);
  // Answers InvalidArgument to every line from now on.
  void TakeNoLines();
  void LimitLogs(int64_t bytes);
  void AddFile(const std::string& sha256, const std::string& content);
  // Lets a new agent come after the last one's Shutdown.
  void Reopen();

  std::string Events(const std::string& attempt, int rank = 0);
  std::string Log(const std::string& attempt, int rank = 0);
  // The newest observation; state kEnded with an empty name: never seen.
  ObservedAttempt Observed(const std::string& attempt);
  // Whether the agent last said so.
  bool stopping();
  // Why the agent last said that it can start nothing.
  std::string not_ready();
  // Of the last registration.
  std::string folder_id();
  int num_registrations();
  int num_refused_registrations();
  int num_heartbeats();

  // ---- Transport ----------------------------------------------------------

  absl::StatusOr<Registered> Register(const WorkerInfo& worker,
                                      const AgentReport& report) override;
  absl::StatusOr<DesiredState> Heartbeat(const WorkerInfo& worker,
                                         const AgentReport& report) override;
  absl::Status WatchDesired(
      const WorkerInfo& worker,
      const std::function<void(DesiredState)>& changed) override;
  absl::StatusOr<int64_t> ReportEvents(const WorkerInfo& worker,
                                       const std::string& attempt, int rank,
                                       int64_t offset,
                                       std::string lines) override;
  absl::StatusOr<LogAnswer> ReportLogs(const WorkerInfo& worker,
                                       const std::string& attempt, int rank,
                                       int64_t offset,
                                       std::string data) override;
  absl::Status FetchFile(
      const std::string& sha256,
      const std::function<bool(std::string_view)>& sink) override;
  void Shutdown() override;

 private:
  using Key = std::pair<std::string, int>;

  absl::Status Admit(const WorkerInfo& worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeIn(const AgentReport& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  DesiredState desired_ ABSL_GUARDED_BY(mutex_);
  std::string incarnation_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, ObservedAttempt> observed_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, std::string> events_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, std::string> logs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> files_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> refused_ ABSL_GUARDED_BY(mutex_);
  int64_t log_limit_ ABSL_GUARDED_BY(mutex_) = int64_t{1} << 40;
  bool reachable_ ABSL_GUARDED_BY(mutex_) = true;
  bool superseded_ ABSL_GUARDED_BY(mutex_) = false;
  bool name_in_use_ ABSL_GUARDED_BY(mutex_) = false;
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::string not_ready_ ABSL_GUARDED_BY(mutex_);
  std::string folder_id_ ABSL_GUARDED_BY(mutex_);
  bool takes_no_lines_ ABSL_GUARDED_BY(mutex_) = false;
  int num_registrations_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_refused_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_heartbeats_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace epochd::agent
