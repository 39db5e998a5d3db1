// SPDX-License-Identifier: Apache-2.0
#include "bench/loop/workload.h"

#include <ATen/ATen.h>
#include <sys/resource.h>

namespace epochd::bench {

Data MakeData(const Workload& workload) {
  at::manual_seed(1);
  const int64_t rows = workload.NumBatches() * workload.batch_size;
  // Two statements: the order of the draws is part of the stream.
  at::Tensor input = workload.model == Workload::Model::kMlp
                         ? at::randn({rows, Workload::kFeatures})
                         : at::randn({rows, 1, 28, 28});
  at::Tensor target = at::randint(0, Workload::kClasses, {rows}, at::kLong);
  return {std::move(input), std::move(target)};
}

Data ReadyBatch(const Workload& workload, const Data& data, int64_t batch) {
  const int64_t begin = batch * workload.batch_size;
  const int64_t end = begin + workload.batch_size;
  return {data.input.slice(0, begin, end), data.target.slice(0, begin, end)};
}

double StepClock::Faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt);
}

double Checksum(const std::vector<at::Tensor>& weights) {
  double sum = 0;
  for (const at::Tensor& each : weights) {
    sum += each.detach().to(at::kDouble).abs().sum().item<double>();
  }
  return sum;
}

}  // namespace epochd::bench
