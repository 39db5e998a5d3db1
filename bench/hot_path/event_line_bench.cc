// SPDX-License-Identifier: Apache-2.0
//
// Reading the lines that ranks write: the coordinator does it for each line of
// every rank.
#include <benchmark/benchmark.h>

#include <string_view>

#include "server/job/event_line.h"

namespace epochd::job {
namespace {

constexpr std::string_view kProgressLine =
    R"({"type":"progress","epoch":3,"total_epochs":30,"phase":"train",)"
    R"("batch":120,"batches":1563,"step":3246,"loss":0.3141592653589793,)"
    R"("samples_per_second":20480.25,"time":1764500000.123456,"rank":0})";

constexpr std::string_view kEpochLine =
    R"({"type":"epoch_finished","epoch":3,"step":4689,"metrics":{)"
    R"("train/loss":0.2718281828,"val/loss":0.31,"val/accuracy":0.9712,)"
    R"("val/top5":0.9991},"learning_rates":{"optimizer":0.002969},)"
    R"("seconds":1.52,"samples_per_second":21003.5,)"
    R"("time":1764500001.654321,"rank":0})";

void BM_ParseEventLine(benchmark::State& state, std::string_view line) {
  for (auto _ : state) {
    auto parsed = ParseEventLine(line);
    if (!parsed.ok()) {
      state.SkipWithError("refused");
      return;
    }
    benchmark::DoNotOptimize(parsed);
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(line.size()));
}
BENCHMARK_CAPTURE(BM_ParseEventLine, progress, kProgressLine);
BENCHMARK_CAPTURE(BM_ParseEventLine, epoch_finished, kEpochLine);

}  // namespace
}  // namespace epochd::job
