// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/score_board.h"

#include <ATen/ATen.h>

namespace epochd::engine {

Scores ReduceMeter(Communicator& communicator, const Meter& meter,
                   const std::string& prefix) {
  if (communicator.world_size() == 1) return meter.Means(prefix);
  // Ranks may know different names: one may have had no batch, or a hook of
  // one may have measured something.
  Meter all;
  for (const std::string& own : communicator.Gather(meter.State().dump())) {
    Meter of_rank;
    of_rank.LoadState(nlohmann::ordered_json::parse(own));
    all.Include(of_rank);
  }
  return all.Means(prefix);
}

void ReduceMetrics(Communicator& communicator,
                   const std::vector<std::shared_ptr<Metric>>& metrics,
                   const std::string& prefix, Scores& scores) {
  if (metrics.empty()) return;
  std::vector<at::Tensor> sums;
  sums.reserve(metrics.size());
  for (const auto& metric : metrics) sums.push_back(metric->Sums());
  at::Tensor all = at::cat(sums);
  communicator.AllReduceSum(all);
  int64_t offset = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t size = sums[i].numel();
    for (const auto& [name, value] :
         metrics[i]->Values(all.slice(0, offset, offset + size))) {
      scores.emplace_back(prefix + name, value);
    }
    offset += size;
  }
}

}  // namespace epochd::engine
