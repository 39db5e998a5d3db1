// SPDX-License-Identifier: Apache-2.0
//
// A JobStore that measures the one it wraps: how long commits take, and which
// restarts they record. Threads and lifetime are those of the wrapped store,
// which outlives it, as does the registry.
#pragma once

#include <prometheus/registry.h>

#include <map>

#include "server/store/job_store.h"

namespace prometheus {
class Counter;
class Histogram;
}  // namespace prometheus

namespace epochd::metrics {

struct StoreMetrics {
  explicit StoreMetrics(prometheus::Registry& registry);

  prometheus::Histogram& commit_seconds;
  // epochd_job_restarts_total by the reason of the attempt that ended; every
  // reason begins at 0.
  std::map<job::AttemptReason, prometheus::Counter*> restarts;
};

class MeteredJobStore final : public store::JobStore {
 public:
  MeteredJobStore(store::JobStore& wrapped, prometheus::Registry& registry)
      : wrapped_(wrapped), metrics_(registry) {}

  absl::StatusOr<store::Snapshot> Load() override { return wrapped_.Load(); }
  absl::Status Commit(const store::Batch& batch) override;
  absl::Status Probe() override { return wrapped_.Probe(); }
  absl::StatusOr<std::vector<store::FinishedJob>> FinishedJobs(
      int32_t limit) override {
    return wrapped_.FinishedJobs(limit);
  }
  absl::StatusOr<bool> Sweep(int32_t max_events) override {
    return wrapped_.Sweep(max_events);
  }
  absl::StatusOr<std::shared_ptr<const job::Job>> ReadJob(
      job::JobId id) const override {
    return wrapped_.ReadJob(id);
  }
  absl::StatusOr<std::vector<job::Event>> ReadEvents(
      job::JobId id, int64_t after, int32_t limit) const override {
    return wrapped_.ReadEvents(id, after, limit);
  }
  absl::StatusOr<store::JobPage> ListJobs(
      const store::ListQuery& query) const override {
    return wrapped_.ListJobs(query);
  }
  absl::StatusOr<job::JobId> FindRequest(
      std::string_view request_id) const override {
    return wrapped_.FindRequest(request_id);
  }
  absl::StatusOr<job::JobId> FindDeletion(
      std::string_view request_id) const override {
    return wrapped_.FindDeletion(request_id);
  }
  absl::StatusOr<bool> UsesFile(std::string_view sha256) const override {
    return wrapped_.UsesFile(sha256);
  }

 private:
  store::JobStore& wrapped_;
  StoreMetrics metrics_;
};

}  // namespace epochd::metrics
