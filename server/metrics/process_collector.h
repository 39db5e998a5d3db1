// SPDX-License-Identifier: Apache-2.0
//
// What every Prometheus client tells about its own process, under the usual
// names: memory, CPU time, file descriptors, start time. Read from /proc at
// each scrape. Any thread.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

namespace epochd::metrics {

class ProcessCollector final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace epochd::metrics
