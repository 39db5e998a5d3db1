// SPDX-License-Identifier: Apache-2.0
//
//   signal_bench windows RECORD FROM,TO... ROUNDS   opens and reads windows
//   signal_bench open FILE ROUNDS       opens an npy or safetensors as data
//   signal_bench sum FILE ROUNDS        and adds up every byte of it
//
// Prints seconds of each round, one a line; run_signals.py compares them with
// Python's packages and cat.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/checkpoint/safetensors.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/npy.h"
#include "worker/engine/data/signal/wfdb_record.h"

namespace epochd::engine {
namespace {

template <class F>
void Time(int rounds, F work) {
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - start;
    std::printf("%.9f\n", taken.count());
  }
}

std::vector<at::Tensor> Open(const std::string& path) {
  if (path.ends_with(".npy")) return {ReadNpy(path)};
  std::vector<at::Tensor> tensors;
  for (NamedTensor& each : MapSafetensors(path)) {
    tensors.push_back(std::move(each.tensor));
  }
  return tensors;
}

// Of 64-bit words, with overflow.
uint64_t Sum(const at::Tensor& tensor) {
  const auto* words = static_cast<const uint64_t*>(tensor.const_data_ptr());
  return std::accumulate(words, words + tensor.nbytes() / sizeof(uint64_t),
                         uint64_t{0});
}

int Run(const std::vector<std::string>& words) {
  if (words.size() >= 4 && words[1] == "windows") {
    // As a thread of a loader; the peer has one too.
    at::set_num_threads(1);
    const int rounds = std::stoi(words.back());
    std::vector<std::pair<int64_t, int64_t>> windows;
    for (size_t i = 3; i + 1 < words.size(); ++i) {
      const size_t comma = words[i].find(',');
      windows.emplace_back(std::stoll(words[i].substr(0, comma)),
                           std::stoll(words[i].substr(comma + 1)));
    }
    double sum = 0;
    Time(rounds, [&] {
      // As rdrecord does: header and samples each time.
      for (const auto& [from, to] : windows) {
        const WfdbRecord record(words[2]);
        std::vector<int> all(record.signals().size());
        std::iota(all.begin(), all.end(), 0);
        sum += record.Physical(from, to, all).select(1, 0).sum().item<double>();
      }
    });
    std::fprintf(stderr, "%g\n", sum / rounds);
    return 0;
  }
  if (words.size() == 4 && (words[1] == "open" || words[1] == "sum")) {
    uint64_t sum = 0;
    Time(std::stoi(words[3]), [&] {
      sum = 0;
      for (const at::Tensor& each : Open(words[2])) {
        if (words[1] == "sum") sum += Sum(each);
      }
    });
    std::fprintf(stderr, "%" PRIu64 "\n", sum);
    return 0;
  }
  std::fprintf(stderr, "signal_bench windows|open|sum ...\n");
  return 2;
}

}  // namespace
}  // namespace epochd::engine

int main(int argc, char** argv) {
  try {
    return epochd::engine::Run({argv, argv + argc});
  } catch (const epochd::engine::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
