// SPDX-License-Identifier: Apache-2.0
//
// What the hook points of one training step cost: nobody bound, as in a run
// without hooks, and one empty callback at each. A step of TrainingRunner and
// its trainer fires eight.
#include <benchmark/benchmark.h>

#include <array>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook_point.h"

namespace epochd::engine {
namespace {

using Points = std::array<HookPoint<RunnerContext>, 8>;

void FireAll(benchmark::State& state, Points& points) {
  RunnerContext context;
  for (auto _ : state) {
    for (HookPoint<RunnerContext>& point : points) {
      benchmark::DoNotOptimize(&point);
      point.Fire(context);
    }
    benchmark::ClobberMemory();
  }
}

void BM_StepUnbound(benchmark::State& state) {
  Points points;
  FireAll(state, points);
}
BENCHMARK(BM_StepUnbound);

void BM_StepBound(benchmark::State& state) {
  Points points;
  for (HookPoint<RunnerContext>& point : points) {
    point.Bind([](RunnerContext& context) {
      benchmark::DoNotOptimize(&context);
    });
  }
  FireAll(state, points);
}
BENCHMARK(BM_StepBound);

}  // namespace
}  // namespace epochd::engine
