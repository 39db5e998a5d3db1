// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/loss_schedule.h"

#include <ATen/ATen.h>

#include <iterator>
#include <string>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {

LossSchedule::LossSchedule(std::string name, std::map<int64_t, Losses> schedule)
    : name_(std::move(name)), schedule_(std::move(schedule)) {
  if (schedule_.empty() || schedule_.begin()->first != 0) {
    throw Error(ErrorKind::kBadSpec,
                "schedule: no loss for epoch 0; keys are epochs, and 0 must be "
                "among them");
  }
  for (const auto& [epoch, losses] : schedule_) {
    for (const std::shared_ptr<Loss>& loss : losses) {
      if (dynamic_cast<const LossSchedule*>(loss.get()) == nullptr) continue;
      throw Error(ErrorKind::kBadSpec,
                  "schedule: a LossSchedule from epoch " +
                      std::to_string(epoch) +
                      " on; losses that are none are accepted");
    }
  }
}

const LossSchedule::Losses& LossSchedule::At(int64_t epoch) const {
  auto next = schedule_.upper_bound(epoch);
  return next == schedule_.begin() ? next->second : std::prev(next)->second;
}

at::Tensor LossSchedule::Compute(const Batch& batch) const {
  at::Tensor total;
  for (const std::shared_ptr<Loss>& loss : At(epoch_)) {
    at::Tensor value = loss->Compute(batch);
    if (loss->weight() != 1.0) value = value * loss->weight();
    total = total.defined() ? total + value : value;
  }
  return total;
}

}  // namespace epochd::engine
