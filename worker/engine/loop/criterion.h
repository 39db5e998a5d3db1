// SPDX-License-Identifier: Apache-2.0
//
// Criterion: a weighted sum of losses. Owned by trainers and handed to runners
// with each epoch. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/loop/meter.h"

namespace epochd::engine {

class Criterion {
 public:
  Criterion() = default;
  explicit Criterion(std::vector<std::shared_ptr<Loss>> losses);

  bool empty() const { return terms_.empty(); }
  // Computes the sum. When there are several losses, or one of weight other
  // than 1, `parts` gets each by name, unweighted.
  at::Tensor Compute(const Batch& batch, NamedLosses* parts) const;

 private:
  struct Term {
    std::shared_ptr<Loss> loss;
    std::string name;  // made different from the others'
  };
  std::vector<Term> terms_;
};

// The loss and its parts into a meter, as "loss" and by their names.
void AddLosses(const at::Tensor& loss, const NamedLosses& parts,
               int64_t samples, Meter& meter);

// Further scalars of a batch into a meter.
void AddMetrics(const NamedLosses& metrics, int64_t samples, Meter& meter);

// The sum of `loss` (may be undefined) and `extras`.
at::Tensor TotalLoss(const at::Tensor& loss, const NamedLosses& extras);

}  // namespace epochd::engine
