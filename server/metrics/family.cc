// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/family.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "text/utf8.h"

namespace epochd::metrics {
namespace {

constexpr std::size_t kMaxLabelBytes = 128;

}  // namespace

FamilyBuilder::FamilyBuilder(const FamilySpec& spec, int64_t max_series)
    : spec_(spec), max_series_(max_series) {
  family_.name = spec.name;
  family_.help = spec.help;
  family_.type = spec.type;
}

void FamilyBuilder::Add(std::vector<std::string> label_values, double value) {
  if (static_cast<int64_t>(family_.metric.size()) >= max_series_) {
    ++num_dropped_;
    return;
  }
  prometheus::ClientMetric metric;
  for (std::size_t i = 0; i < spec_.labels.size(); ++i) {
    metric.label.push_back({spec_.labels[i], std::move(label_values.at(i))});
  }
  if (spec_.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family_.metric.push_back(std::move(metric));
}

void FamilyBuilder::AddHistogram(const std::vector<double>& bounds,
                                 const std::vector<int64_t>& counts,
                                 double sum) {
  prometheus::ClientMetric metric;
  uint64_t cumulative = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    cumulative += static_cast<uint64_t>(counts[i]);
    if (i < bounds.size()) {
      metric.histogram.bucket.push_back({cumulative, bounds[i]});
    }
  }
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = sum;
  family_.metric.push_back(std::move(metric));
}

std::string LabelText(const std::string& raw) {
  std::string clean;
  std::string_view rest = raw;
  while (!rest.empty()) {
    const text::Utf8Character first = text::DecodeFirst(rest);
    const bool shown =
        first.length > 0 && first.code >= 0x20 && first.code != 0x7f;
    const std::size_t length = std::max<std::size_t>(first.length, 1);
    const std::string_view piece = shown ? rest.substr(0, length) : "?";
    if (clean.size() + piece.size() > kMaxLabelBytes) break;
    clean += piece;
    rest.remove_prefix(length);
  }
  return clean;
}

}  // namespace epochd::metrics
