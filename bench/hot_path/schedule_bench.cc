// SPDX-License-Identifier: Apache-2.0
//
// One pass of the scheduler over a big fleet and a long queue.
#include <benchmark/benchmark.h>

#include "tests/server/schedule/cluster.h"

namespace epochd::schedule {
namespace {

constexpr int kWorkers = 1000;
constexpr int kGpus = 8;
constexpr int kJobs = 10000;

// Jobs of 1 to 16 GPUs; every eighth asks for CPUs.
Cluster MakeCluster() {
  Cluster cluster;
  for (int i = 0; i < kWorkers; ++i) {
    cluster.AddWorker("worker-" + std::to_string(i), /*num_cpus=*/16, kGpus);
  }
  for (int i = 0; i < kJobs; ++i) {
    if (i % 8 == 7) {
      cluster.AddJob(4);
    } else {
      cluster.AddJob(1 << (i % 5), 0, job::DeviceKind::kGpu);
    }
  }
  return cluster;
}

void HoldAll(Cluster& cluster) {
  for (Offer& offer : cluster.offers()) {
    for (const fleet::Device& device : offer.worker->devices) {
      offer.held.push_back(device.id);
    }
  }
}

// As most passes are: something changed, nothing fits.
void BM_PlanFullFleet(benchmark::State& state) {
  Cluster cluster = MakeCluster();
  HoldAll(cluster);
  size_t num_waiting = 0;
  for (auto _ : state) num_waiting = cluster.Plan().waiting.size();
  state.counters["waiting"] = static_cast<double>(num_waiting);
}
BENCHMARK(BM_PlanFullFleet)->Unit(benchmark::kMillisecond);

// As after a start of the coordinator with everything free.
void BM_PlanEmptyFleet(benchmark::State& state) {
  const Cluster cluster = MakeCluster();
  size_t num_assigned = 0;
  for (auto _ : state) num_assigned = cluster.Plan().assignments.size();
  state.counters["assigned"] = static_cast<double>(num_assigned);
}
BENCHMARK(BM_PlanEmptyFleet)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace epochd::schedule
