// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/metered_job_store.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>

#include <chrono>
#include <string>
#include <variant>

namespace epochd::metrics {
namespace {

const prometheus::Histogram::BucketBoundaries kCommitBounds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
    0.025,  0.05,    0.1,    0.25,  0.5,    1,     2.5};

}  // namespace

StoreMetrics::StoreMetrics(prometheus::Registry& registry)
    : commit_seconds(prometheus::BuildHistogram()
                         .Name("epochd_store_commit_seconds")
                         .Help("Time that commits took until they were "
                               "durable.")
                         .Register(registry)
                         .Add({}, kCommitBounds)) {
  auto& family = prometheus::BuildCounter()
                     .Name("epochd_job_restarts_total")
                     .Help(
                         "Attempts that ended so that their job goes on with "
                         "another one, by reason.")
                     .Register(registry);
  for (const job::AttemptReason reason : job::AllAttemptReasons()) {
    restarts[reason] = &family.Add({{"reason", std::string(Name(reason))}});
  }
}

absl::Status MeteredJobStore::Commit(const store::Batch& batch) {
  if (batch.empty()) return wrapped_.Commit(batch);
  const auto start = std::chrono::steady_clock::now();
  absl::Status status = wrapped_.Commit(batch);
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  metrics_.commit_seconds.Observe(elapsed.count());
  if (!status.ok()) return status;
  for (const store::JobWrite& write : batch.jobs) {
    if (write.job->IsTerminal()) continue;
    for (const job::Event& event : write.events) {
      const auto* changed = std::get_if<job::AttemptStateChanged>(&event.body);
      if (changed == nullptr || changed->state != job::AttemptState::kEnded) {
        continue;
      }
      const auto counter = metrics_.restarts.find(changed->reason);
      if (counter != metrics_.restarts.end()) counter->second->Increment();
    }
  }
  return status;
}

}  // namespace epochd::metrics
