// SPDX-License-Identifier: Apache-2.0
//
// What a save costs the training: the stall of CheckpointWriter::Start(), which
// is the copy to the host, beside the whole of a blocking WriteCheckpoint();
// 150 MiB of state as of a model of 13 million parameters under Adam.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "worker/engine/checkpoint/checkpoint_writer.h"
#include "worker/engine/core/allocator.h"

namespace epochd::engine {
namespace {

constexpr int kTensors = 62;
constexpr int64_t kNumbers = 211000;  // in each
constexpr int64_t kBytes = 3 * kTensors * kNumbers * 4;

class Scratch {
 public:
  Scratch() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "epochd-bench-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~Scratch() { Clear(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void Clear() const {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string Next() { return folder_ + "/" + std::to_string(++number_); }

 private:
  std::string folder_;
  int number_ = 0;
};

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
  Scratch scratch;
  for (auto _ : state) {
    WriteCheckpoint(scratch.Next(), State());
    state.PauseTiming();
    scratch.Clear();
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_BlockingSave)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_StallOfASave(benchmark::State& state) {
  Scratch scratch;
  CheckpointWriter writer;
  // Its memory is there from the second save on.
  writer.Start(scratch.Next(), State());
  writer.Wait();
  for (auto _ : state) {
    writer.Start(scratch.Next(), State());
    state.PauseTiming();
    const auto result = writer.Wait();
    if (!result || !result->error.empty()) state.SkipWithError("not saved");
    scratch.Clear();
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_StallOfASave)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace epochd::engine
