// SPDX-License-Identifier: Apache-2.0
//
// Shuffled batches of 64 through the loader, beside index_select alone: images
// of 28 x 28, and rows of 64 numbers, which cost less than handing them over
// between threads would. Arguments of BM_Loader: threads, and numbers of a
// sample. The consumer does nothing with a batch, so threads have no work to
// hide behind.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include "worker/engine/data/loader.h"
#include "worker/engine/data/views.h"

namespace epochd::engine {
namespace {

constexpr int64_t kSamples = 16384;
constexpr int64_t kBatchSize = 64;

Batch MakeColumns(int64_t numbers) {
  at::set_num_threads(1);
  at::manual_seed(1);
  return {{"input", at::randn({kSamples, numbers})},
          {"target", at::randint(0, 10, {kSamples}, at::kLong)}};
}

void BM_Loader(benchmark::State& state) {
  const auto loader =
      MakeLoader(std::make_shared<TensorDataset>(MakeColumns(state.range(1))),
                 {.batch_size = kBatchSize,
                  .shuffle = true,
                  .threads = static_cast<int>(state.range(0))});
  Batch batch;
  int64_t epoch = 0;
  int64_t num_batches = 0;
  for (auto _ : state) {
    loader->StartEpoch(epoch++, 0);
    while (loader->Next(batch)) ++num_batches;
  }
  state.SetItemsProcessed(num_batches);
}
BENCHMARK(BM_Loader)
    ->ArgsProduct({{0, 1, 2}, {64, 28 * 28}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void BM_IndexSelect(benchmark::State& state) {
  const Batch columns = MakeColumns(state.range(0));
  const at::Tensor& input = columns.At("input");
  const at::Tensor& target = columns.At("target");
  int64_t num_batches = 0;
  for (auto _ : state) {
    const at::Tensor order = at::randperm(kSamples, at::kLong);
    for (int64_t i = 0; i < kSamples; i += kBatchSize) {
      const at::Tensor rows = order.slice(0, i, i + kBatchSize);
      benchmark::DoNotOptimize(input.index_select(0, rows));
      benchmark::DoNotOptimize(target.index_select(0, rows));
      ++num_batches;
    }
  }
  state.SetItemsProcessed(num_batches);
}
BENCHMARK(BM_IndexSelect)
    ->Arg(64)
    ->Arg(28 * 28)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace epochd::engine
