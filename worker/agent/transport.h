// SPDX-License-Identifier: Apache-2.0
//
// The coordinator as the agent sees it. Calls block, have deadlines of their
// own and are safe to repeat; any thread. Codes: UNAVAILABLE and the like: try
// again · NOT_FOUND: register first · ABORTED: a newer agent took the name ·
// FAILED_PRECONDITION: the attempt is not the job's current one, stop it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/agent/types.h"

namespace epochd::agent {

class Transport {
 public:
  virtual ~Transport() = default;

  virtual absl::StatusOr<Registered> Register(const WorkerInfo& worker,
                                              const AgentReport& report) = 0;

  virtual absl::StatusOr<DesiredState> Heartbeat(const WorkerInfo& worker,
                                                 const AgentReport& report) = 0;

  // Calls `changed` for each state until the stream ends; returns why.
  virtual absl::Status WatchDesired(
      const WorkerInfo& worker,
      const std::function<void(DesiredState)>& changed) = 0;

  // OK is durable; answers with the next wanted offset.
  virtual absl::StatusOr<int64_t> ReportEvents(const WorkerInfo& worker,
                                               const std::string& attempt,
                                               int rank, int64_t offset,
                                               std::string lines) = 0;

  virtual absl::StatusOr<LogAnswer> ReportLogs(const WorkerInfo& worker,
                                               const std::string& attempt,
                                               int rank, int64_t offset,
                                               std::string data) = 0;

  // Hands the content over in pieces; `sink` returning false ends it.
  virtual absl::Status FetchFile(
      const std::string& sha256,
      const std::function<bool(std::string_view)>& sink) = 0;

  // Ends all calls, now and later, with CANCELLED.
  virtual void Shutdown() = 0;
};

}  // namespace epochd::agent
