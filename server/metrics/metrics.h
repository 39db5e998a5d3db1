// SPDX-License-Identifier: Apache-2.0
//
// Everything that /metrics shows. Components register what they count with
// registry(); what follows the controller's state is collected anew at each
// Render. Any thread; outlives whoever registered with it.
//
//   Metrics metrics({.version = "0.1.0", .commit = "..."});
//   MeteredJobStore store(sqlite, metrics.registry());
//   Controller controller(options, clock, store);
//   metrics.Watch([&] { return controller.GetStats(); });   // before serving
#pragma once

#include <prometheus/registry.h>

#include <functional>
#include <memory>
#include <string>

#include "server/control/views.h"
#include "server/metrics/fleet_collector.h"
#include "server/metrics/process_collector.h"

namespace prometheus {
class Gauge;
}  // namespace prometheus

namespace epochd::metrics {

class Metrics {
 public:
  struct Options {
    std::string version;
    std::string commit;
    FleetCollector::Options fleet = {};
  };

  explicit Metrics(const Options& options);

  prometheus::Registry& registry() { return registry_; }
  // Open event streams and log followers; increment and decrement.
  prometheus::Gauge& event_subscribers() { return event_subscribers_; }

  // Adds the families of the fleet. Call once, before Render is called from
  // other threads; what `stats` uses has to outlive the last Render.
  void Watch(std::function<control::Stats()> stats);

  // The text format, version 0.0.4.
  std::string Render() const;

 private:
  const FleetCollector::Options fleet_options_;
  prometheus::Registry registry_;
  prometheus::Gauge& event_subscribers_;
  const ProcessCollector process_;
  std::unique_ptr<const FleetCollector> fleet_;
};

}  // namespace epochd::metrics
