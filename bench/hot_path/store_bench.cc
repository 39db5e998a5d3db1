// SPDX-License-Identifier: Apache-2.0
//
// Commits of the SQLite store, beside a synced append to a file: what the disk
// under TMPDIR takes at least. Time is real time; the work is waiting.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <deque>

#include "server/store/sqlite_job_store.h"
#include "tests/conformance/job_samples.h"
#include "tests/temp_folder.h"

namespace epochd::store {
namespace {

std::vector<job::EventBody> OneEvent() {
  job::MetricsLogged metrics;
  metrics.epoch = 1;
  metrics.step = 100;
  metrics.metrics = {{"train/loss", 0.25}, {"val/accuracy", 0.97}};
  return {metrics};
}

// An event for each of `state.range(0)` jobs, in one commit.
void BM_Commit(benchmark::State& state) {
  TempFolder temp;
  auto store = SqliteJobStore::Open({.folder = temp / "state"});
  if (!store.ok() || !(*store)->Load().ok()) {
    state.SkipWithError("the store does not open");
    return;
  }
  std::deque<SampleJob> jobs;
  Batch first;
  for (int64_t i = 0; i < state.range(0); ++i) {
    jobs.emplace_back(i + 1, job::JobSpec());
    first.jobs.push_back(jobs.back().Begin());
  }
  if (!(*store)->Commit(first).ok()) {
    state.SkipWithError("the first commit failed");
    return;
  }
  for (auto _ : state) {
    Batch batch;
    for (SampleJob& each : jobs) {
      batch.jobs.push_back(each.Append(OneEvent()));
    }
    if (!(*store)->Commit(batch).ok()) {
      state.SkipWithError("a commit failed");
      return;
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Commit)->Arg(1)->Arg(16)->Arg(256)->UseRealTime()->Unit(
    benchmark::kMicrosecond);

void BM_SyncedAppend(benchmark::State& state) {
  TempFolder temp;
  const int file =
      open((temp / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const std::string page(4096, 'x');
  for (auto _ : state) {
    if (write(file, page.data(), page.size()) !=
            static_cast<ssize_t>(page.size()) ||
        fdatasync(file) != 0) {
      state.SkipWithError("the disk failed");
      break;
    }
  }
  close(file);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SyncedAppend)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace epochd::store
