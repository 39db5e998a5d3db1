// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/metrics.h"

#include <prometheus/gauge.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "server/metrics/family.h"

namespace epochd::metrics {

Metrics::Metrics(const Options& options)
    : fleet_options_(options.fleet),
      event_subscribers_(
          prometheus::BuildGauge()
              .Name("epochd_event_subscribers")
              .Help("Clients that follow the events or logs of a job.")
              .Register(registry_)
              .Add({})) {
  prometheus::BuildGauge()
      .Name("epochd_build_info")
      .Help("Version and commit of this coordinator; always 1.")
      .Register(registry_)
      .Add({{"version", LabelText(options.version)},
            {"commit", LabelText(options.commit)}})
      .Set(1);
}

void Metrics::Watch(std::function<control::Stats()> stats) {
  fleet_ =
      std::make_unique<const FleetCollector>(fleet_options_, std::move(stats));
}

std::string Metrics::Render() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  const auto append = [&](std::vector<prometheus::MetricFamily> more) {
    std::move(more.begin(), more.end(), std::back_inserter(families));
  };
  append(process_.Collect());
  if (fleet_ != nullptr) append(fleet_->Collect());
  for (prometheus::MetricFamily& family : families) {
    // The serializer does not escape these, and a second line would be read as
    // a sample.
    std::replace(family.help.begin(), family.help.end(), '\n', ' ');
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace epochd::metrics
