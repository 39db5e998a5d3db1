// SPDX-License-Identifier: Apache-2.0
//
// Runs one loop once and prints a line `RESULT {...}`; run.py runs them all.
//
//   loop_bench raw|fused|epochd|shipped ready|loader|thread [mlp|cnn] [steps]
#include <ATen/Parallel.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string_view>

#include "bench/loop/epochd_loop.h"
#include "bench/loop/raw_loop.h"
#include "tests/temp_folder.h"

namespace epochd::bench {
namespace {

double ResidentMebibytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * 4096 / (1 << 20);
}

int Run(std::string_view loop, std::string_view source, Workload::Model model,
        int64_t steps) {
  at::set_num_threads(1);
  Workload workload = Workload::Of(model);
  if (steps > 0) workload.steps = steps;
  const Batches batches = source == "ready"    ? Batches::kReady
                          : source == "thread" ? Batches::kThread
                                               : Batches::kLoader;
  const Data data = MakeData(workload);
  const TempFolder scratch;
  const bool by_hand = loop == "raw" || loop == "fused";
  const Result result =
      by_hand ? RunRawLoop(workload, data, batches, loop == "fused")
              : RunEpochdLoop(workload, data, batches, loop == "shipped",
                              scratch.path());
  std::printf(
      "RESULT {\"us\": %.4f, \"checksum\": %.17g, \"faults\": %.1f, "
      "\"VmRSS\": %.1f}\n",
      result.microseconds, Checksum(result.weights), result.faults,
      ResidentMebibytes());
  return 0;
}

}  // namespace
}  // namespace epochd::bench

int main(int argc, char** argv) {
  using epochd::bench::Workload;
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: %s raw|fused|epochd|shipped ready|loader|thread "
                 "[mlp|cnn] [steps]\n",
                 argv[0]);
    return 2;
  }
  Workload::Model model = Workload::Model::kMlp;
  int64_t steps = 0;
  for (int i = 3; i < argc; ++i) {
    if (std::string_view(argv[i]) == "cnn") {
      model = Workload::Model::kCnn;
    } else {
      steps = std::atoll(argv[i]);
    }
  }
  if (model == Workload::Model::kCnn && std::string_view(argv[2]) != "ready") {
    std::fprintf(stderr, "%s: the cnn takes ready batches only\n", argv[0]);
    return 2;
  }
  try {
    return epochd::bench::Run(argv[1], argv[2], model, steps);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}
