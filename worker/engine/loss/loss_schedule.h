// SPDX-License-Identifier: Apache-2.0
//
// LossSchedule: other losses from certain epochs on, as SR-Forge's
// LossScheduler. A criterion (loop/criterion.h) asks which are at work; as a
// loss itself it is their weighted sum. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/loss.h"

namespace epochd::engine {

class LossSchedule : public Loss {
 public:
  using Losses = std::vector<std::shared_ptr<Loss>>;

  // Losses by the epoch (from 0) that they begin with. Throws Error(kBadSpec)
  // when there are none for epoch 0.
  LossSchedule(std::string name, std::map<int64_t, Losses> schedule);

  // Those of the greatest epoch up to `epoch`.
  const Losses& At(int64_t epoch) const;

  // Of the epoch that was set last; 0 at first.
  void SetEpoch(int64_t epoch) { epoch_ = epoch; }
  at::Tensor Compute(const Batch& batch) const override;
  const std::string& name() const override { return name_; }

 private:
  const std::string name_;
  const std::map<int64_t, Losses> schedule_;
  int64_t epoch_ = 0;
};

}  // namespace epochd::engine
