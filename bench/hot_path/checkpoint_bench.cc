// SPDX-License-Identifier: Apache-2.0
//
// What a save costs the training: the stall of CheckpointWriter::Start(), which
// is the copy to the host, beside the whole of a blocking WriteCheckpoint();
// 150 MiB of state as of a model of 13 million parameters under Adam.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <filesystem>
#include <string>

#include "tests/temp_folder.h"
#include "worker/engine/checkpoint/checkpoint_writer.h"
#include "worker/engine/core/allocator.h"

namespace epochd::engine {
namespace {

constexpr int kTensors = 62;
constexpr int64_t kNumbers = 211000;  // in each
constexpr int64_t kBytes = 3 * kTensors * kNumbers * 4;

Snapshot State() {
  static const Snapshot state = [] {
    KeepFreedMemory();  // as trainers do
    Snapshot made;
    for (int i = 0; i < kTensors; ++i) {
      const std::string name = "layer." + std::to_string(i);
      made.model.push_back({name, at::randn({kNumbers})});
      made.state.push_back({"exp_avg." + name, at::randn({kNumbers})});
      made.state.push_back({"exp_avg_sq." + name, at::randn({kNumbers})});
    }
    made.json = {{"step", 1}};
    return made;
  }();
  return state;
}

void BM_BlockingSave(benchmark::State& state) {
  const TempFolder scratch;
  const std::string path = scratch / "saved";
  for (auto _ : state) {
    WriteCheckpoint(path, State());
    state.PauseTiming();
    std::filesystem::remove_all(path);
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_BlockingSave)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_StallOfASave(benchmark::State& state) {
  const TempFolder scratch;
  const std::string path = scratch / "saved";
  CheckpointWriter writer;
  // Its memory is there from the second save on.
  writer.Start(path, State());
  writer.Wait();
  std::filesystem::remove_all(path);
  for (auto _ : state) {
    writer.Start(path, State());
    state.PauseTiming();
    const auto result = writer.Wait();
    if (!result || !result->error.empty()) state.SkipWithError("not saved");
    std::filesystem::remove_all(path);
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_StallOfASave)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace epochd::engine
