// SPDX-License-Identifier: Apache-2.0
//
// What a save costs the training, beside the whole of a blocking
// WriteCheckpoint(); 150 MiB of state, a model of 13 million parameters under
// Adam. The stall is the time of CheckpointWriter::Start() and that which the
// next step of the optimizer first waits for the copy of its state. Between
// them the training computes, or (at worst) does not.
#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/temp_folder.h"
#include "worker/engine/checkpoint/checkpoint_writer.h"
#include "worker/engine/core/allocator.h"
#include "worker/engine/optim/adam.h"

namespace epochd::engine {
namespace {

constexpr int kTensors = 62;
constexpr int64_t kNumbers = 211000;  // in each
constexpr int64_t kBytes = 3 * kTensors * kNumbers * 4;

class Training {
 public:
  Training() {
    KeepFreedMemory();  // as trainers do
    std::vector<NamedTensor> parameters;
    for (int i = 0; i < kTensors; ++i) {
      at::Tensor made = at::randn({kNumbers}).requires_grad_();
      made.mutable_grad() = at::randn({kNumbers});
      parameters.push_back({"layer." + std::to_string(i), made});
    }
    optimizer_ = std::make_unique<Adam>(parameters, Adam::Options{});
    Step();
  }
  // As Trainer::TakeSnapshot() makes it.
  Snapshot Take() const {
    Snapshot made;
    made.model = optimizer_->parameters();
    made.state = optimizer_->State();
    made.late = {{optimizer_->pending_reads(), {}}};
    for (const NamedTensor& each : made.state) {
      made.late[0].tensors.push_back(each.tensor);
    }
    made.json = {{"step", 1}};
    return made;
  }
  void Step() { optimizer_->Step(); }
  // What a step does first.
  void FinishReads() { optimizer_->pending_reads()->Finish(); }
  // Forward and backward of a batch of 64: six operations for each parameter
  // and sample.
  void Compute() { result_ = at::mm(left_, right_); }

 private:
  std::unique_ptr<Adam> optimizer_;
  const at::Tensor left_ = at::randn({3 * 64, kNumbers / 100});
  const at::Tensor right_ = at::randn({kNumbers / 100, 100 * kTensors});
  at::Tensor result_;
};

Training& TheTraining() {
  static auto& training = *new Training;
  return training;
}

double Seconds(const std::function<void()>& act) {
  const auto begin = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

void BM_BlockingSave(benchmark::State& state) {
  const TempFolder scratch;
  const std::string path = scratch / "saved";
  for (auto _ : state) {
    WriteCheckpoint(path, TheTraining().Take());
    state.PauseTiming();
    std::filesystem::remove_all(path);
    state.ResumeTiming();
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_BlockingSave)->UseRealTime()->Unit(benchmark::kMillisecond);

// Argument: whether a batch is computed before the step.
void BM_StallOfASave(benchmark::State& state) {
  const TempFolder scratch;
  const std::string path = scratch / "saved";
  Training& training = TheTraining();
  CheckpointWriter writer;
  const auto save = [&] { writer.Start(path, training.Take()); };
  const auto finish = [&] { training.FinishReads(); };
  const auto wait = [&] {
    const auto result = writer.Wait();
    if (!result || !result->error.empty()) state.SkipWithError("not saved");
    std::filesystem::remove_all(path);
  };
  // Its memory is there from the second save on.
  save();
  wait();
  double start = 0;
  for (auto _ : state) {
    double stall = Seconds(save);
    start += stall;
    if (state.range(0) != 0) training.Compute();
    stall += Seconds(finish);
    training.Step();
    wait();
    state.SetIterationTime(stall);
  }
  state.counters["start_ms"] =
      benchmark::Counter(1000 * start, benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_StallOfASave)
    ->ArgName("computes")
    ->Arg(1)
    ->Arg(0)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// What the batch after a save takes longer, as the copy and the writing have a
// share of the processors.
void BM_BatchBesideASave(benchmark::State& state) {
  const TempFolder scratch;
  const std::string path = scratch / "saved";
  Training& training = TheTraining();
  CheckpointWriter writer;
  for (auto _ : state) {
    state.PauseTiming();
    if (state.range(0) != 0) writer.Start(path, training.Take());
    state.ResumeTiming();
    training.Compute();
    state.PauseTiming();
    writer.Wait();
    std::filesystem::remove_all(path);
    state.ResumeTiming();
  }
}
BENCHMARK(BM_BatchBesideASave)
    ->ArgName("saves")
    ->Arg(0)
    ->Arg(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace epochd::engine
