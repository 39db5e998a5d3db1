// SPDX-License-Identifier: Apache-2.0
//
// Metric: adds up batches, gives a value for an epoch. Crossing ranks is
// explicit: sums of all ranks are added (Communicator) and Value() is asked of
// the total, so that each sample counts once. One thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/batch.h"

namespace epochd::engine {

class Metric {
 public:
  virtual ~Metric() = default;

  virtual void Reset() = 0;
  // Reads predictions and targets; no gradient is kept.
  virtual void Update(const Batch& batch) = 0;
  // A 1-D double tensor on the CPU, additive over batches and ranks.
  virtual at::Tensor Sums() const = 0;
  // Names and values of the sums; NaN where there was nothing.
  virtual std::vector<std::pair<std::string, double>> Values(
      const at::Tensor& sums) const = 0;
  virtual bool higher_is_better() const = 0;
};

}  // namespace epochd::engine
