// SPDX-License-Identifier: Apache-2.0
//
// Writing and reading a checkpoint's weights, 44 MiB in 62 tensors as a
// ResNet-18, beside write(2) and read(2) of as many bytes. Writes are synced.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "tests/temp_folder.h"
#include "worker/engine/checkpoint/safetensors.h"

namespace epochd::engine {
namespace {

constexpr int kTensors = 62;
constexpr int64_t kNumbers = 186000;  // in each
constexpr int64_t kBytes = kTensors * kNumbers * 4;

std::vector<NamedTensor> MakeWeights() {
  std::vector<NamedTensor> weights;
  for (int i = 0; i < kTensors; ++i) {
    weights.push_back({"layer." + std::to_string(i), at::randn({kNumbers})});
  }
  return weights;
}

void BM_WriteSafetensors(benchmark::State& state) {
  const TempFolder scratch;
  const std::string path = scratch / "weights";
  const auto weights = MakeWeights();
  for (auto _ : state) {
    WriteSafetensors(path, weights);
    state.PauseTiming();
    unlink(path.c_str());
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_WriteSafetensors)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Write(benchmark::State& state) {
  const TempFolder scratch;
  const std::string path = scratch / "weights";
  const std::string bytes(kBytes, 'x');
  for (auto _ : state) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    const bool written =
        write(file, bytes.data(), bytes.size()) == kBytes && fsync(file) == 0;
    close(file);
    if (!written) {
      state.SkipWithError("the disk failed");
      break;
    }
    state.PauseTiming();
    unlink(path.c_str());
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_Write)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_ReadSafetensors(benchmark::State& state) {
  const TempFolder scratch;
  const std::string path = scratch / "weights";
  WriteSafetensors(path, MakeWeights());
  for (auto _ : state) {
    benchmark::DoNotOptimize(ReadSafetensors(path));
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_ReadSafetensors)->UseRealTime()->Unit(benchmark::kMillisecond);

// From the cache of the system, as above.
void BM_Read(benchmark::State& state) {
  const TempFolder scratch;
  const std::string path = scratch / "weights";
  WriteSafetensors(path, MakeWeights());
  for (auto _ : state) {
    std::string bytes(kBytes, '\0');
    const int file = open(path.c_str(), O_RDONLY);
    const bool got = read(file, bytes.data(), bytes.size()) == kBytes;
    close(file);
    if (!got) {
      state.SkipWithError("the disk failed");
      break;
    }
    benchmark::DoNotOptimize(bytes);
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_Read)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace epochd::engine
