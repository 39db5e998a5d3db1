// SPDX-License-Identifier: Apache-2.0
//
// Turns the controller's snapshot into metric families: the fleet as a whole,
// and a few series per active job, which carry job_id and are gone once the
// job is not active. The only text of users in a label is the validated name
// and project in epochd_job_info. Any thread.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "server/control/views.h"

namespace epochd::metrics {

class FleetCollector final : public prometheus::Collectable {
 public:
  struct Options {
    int64_t max_series_per_family = 20000;
    // Metrics of one job, by name; more are dropped.
    int max_metrics_per_job = 32;
    std::function<absl::Time()> now = absl::Now;
  };

  // `stats` is called at each Collect, on the calling thread.
  FleetCollector(Options options, std::function<control::Stats()> stats);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Options options_;
  const std::function<control::Stats()> stats_;
  mutable std::atomic<int64_t> num_dropped_ = 0;
};

// True for phase/name as metrics of a job may be called to get series:
// [a-z0-9_]{1,32} on both sides.
bool IsMetricName(std::string_view name);

}  // namespace epochd::metrics
