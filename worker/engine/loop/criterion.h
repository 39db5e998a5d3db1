// SPDX-License-Identifier: Apache-2.0
//
// Criterion: a weighted sum of losses, which may change with epochs, and whose
// weights a balancer may set. Owned by trainers and handed to runners
// with each epoch. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/hook/context.h"
#include "worker/engine/loop/meter.h"
#include "worker/engine/loss/balancer.h"

namespace epochd::engine {

class Criterion {
 public:
  Criterion() = default;
  // A LossSchedule among `losses` stands for those at work.
  explicit Criterion(std::vector<std::shared_ptr<Loss>> losses);

  bool empty() const { return losses_.empty(); }
  // Weights beside those of the losses; shared with copies of the criterion.
  void SetBalancer(std::shared_ptr<LossBalancer> balancer) {
    balancer_ = std::move(balancer);
  }
  LossBalancer* balancer() const { return balancer_.get(); }
  // An epoch (from 0) begins: losses by epoch change.
  void SetEpoch(int64_t epoch);
  // Computes the sum. When there are several losses, or one of weight other
  // than 1, `parts` gets each by name, unweighted.
  at::Tensor Compute(const Batch& batch, NamedLosses* parts) const;
  // The same in training, where the balancer may update its weights before
  // optimizer step `step`, once: with the batch that `begins_step`. `parts`
  // gets them as "weight/<loss>".
  at::Tensor ComputeAt(int64_t step, const Batch& batch, NamedLosses* parts,
                       bool begins_step = true) const;
  // The names under which `parts` now gets losses.
  std::vector<std::string> PartNames() const;
  // How many items the batch counts for: those of the first loss, or samples.
  double NumItems(const Batch& batch) const;

 private:
  struct Term {
    std::shared_ptr<Loss> loss;
    std::string name;     // made different from the others'
    double factor = 1.0;  // beside the loss's own weight
  };
  void AddTerm(const std::shared_ptr<Loss>& loss, double factor);
  static at::Tensor ComputeTerm(const Term& term, const Batch& batch);
  at::Tensor Sum(const std::vector<at::Tensor>& values,
                 NamedLosses* parts) const;

  std::vector<std::shared_ptr<Loss>> losses_;
  std::shared_ptr<LossBalancer> balancer_;
  // Those at work.
  std::vector<Term> terms_;
};

// The loss and its parts into a meter, as "loss" and by their names.
void AddLosses(const at::Tensor& loss, const NamedLosses& parts,
               int64_t samples, Meter& meter);

// Lists the losses that hooks added among those of the batch. Throws
// Error(kBadSpec) for a name that is taken.
void NameExtraLosses(RunnerContext& context, const NamedLosses& extras);

// Further scalars of a batch into a meter.
void AddMetrics(const NamedLosses& metrics, int64_t samples, Meter& meter);

// The sum of `loss` (may be undefined) and `extras`.
at::Tensor TotalLoss(const at::Tensor& loss, const NamedLosses& extras);

}  // namespace epochd::engine
