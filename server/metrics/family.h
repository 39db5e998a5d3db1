// SPDX-License-Identifier: Apache-2.0
//
// Metric families that are built anew at each scrape from a snapshot, so that
// series vanish with what they are about. A family takes only so many series:
// beyond, they are counted and left out, and the scrape stays small.
#pragma once

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <vector>

namespace epochd::metrics {

// What stands in the code once for each family.
struct FamilySpec {
  // With its unit: epochd_..._seconds, _bytes, _total.
  const char* name;
  // One line.
  const char* help;
  prometheus::MetricType type;
  // In the order in which values are given to Add.
  std::vector<const char*> labels;
};

class FamilyBuilder {
 public:
  FamilyBuilder(const FamilySpec& spec, int64_t max_series);

  // Adds a gauge's or counter's series; `label_values` as many as labels.
  void Add(std::vector<std::string> label_values, double value);
  // Adds a histogram's series: counts per bucket, the last without a bound.
  void AddHistogram(const std::vector<double>& bounds,
                    const std::vector<int64_t>& counts, double sum);

  int64_t num_dropped() const { return num_dropped_; }
  prometheus::MetricFamily Take() { return std::move(family_); }

 private:
  const FamilySpec& spec_;
  const int64_t max_series_;
  int64_t num_dropped_ = 0;
  prometheus::MetricFamily family_;
};

// Text as it may stand in a label: at most 128 bytes, valid UTF-8, without
// control characters; what is not becomes '?'.
std::string LabelText(const std::string& raw);

}  // namespace epochd::metrics
