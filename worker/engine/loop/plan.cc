// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/plan.h"

#include <algorithm>

namespace epochd::engine {

int64_t ValidationPlan::IntervalAt(int64_t done) const {
  int64_t found = interval;
  for (const auto& [milestone, each] : dynamic_intervals) {
    if (done >= milestone) found = each;
  }
  return found;
}

bool ValidationPlan::IsDue(int64_t done) const {
  return !fraction && done >= begin && done % IntervalAt(done) == 0;
}

bool ValidationPlan::IsDueWithin(int64_t batches, int64_t num_batches,
                                 int64_t epochs) const {
  if (!fraction || epochs < begin) return false;
  const int64_t every = std::max<int64_t>(
      static_cast<int64_t>(static_cast<double>(num_batches) * *fraction), 1);
  return batches % every == 0;
}

int64_t LoopPlan::TotalBatches(int64_t per_epoch) const {
  int64_t total = -1;
  if (max_epochs && per_epoch >= 0) total = *max_epochs * per_epoch;
  if (max_batches) {
    total = total < 0 ? *max_batches : std::min(total, *max_batches);
  }
  return total;
}

}  // namespace epochd::engine
