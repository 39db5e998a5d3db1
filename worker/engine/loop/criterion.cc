// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/criterion.h"

#include <ATen/ATen.h>

namespace epochd::engine {

Criterion::Criterion(std::vector<std::shared_ptr<Loss>> losses) {
  for (std::shared_ptr<Loss>& loss : losses) {
    std::string name = loss->name();
    for (int number = 2;; ++number) {
      bool is_taken = false;
      for (const Term& term : terms_) is_taken |= term.name == name;
      if (!is_taken) break;
      name = loss->name() + "_" + std::to_string(number);
    }
    terms_.push_back({std::move(loss), std::move(name)});
  }
}

at::Tensor Criterion::Compute(const Batch& batch, NamedLosses* parts) const {
  at::Tensor total;
  for (const Term& term : terms_) {
    at::Tensor value = term.loss->Compute(batch);
    const double weight = term.loss->weight();
    if (parts != nullptr && (terms_.size() > 1 || weight != 1.0)) {
      parts->emplace_back(term.name, value.detach());
    }
    // A loss of weight 0 is watched only.
    if (weight == 0.0 && terms_.size() > 1) continue;
    if (weight != 1.0) value = value * weight;
    total = total.defined() ? total + value : value;
  }
  return total;
}

void AddLosses(const at::Tensor& loss, const NamedLosses& parts,
               int64_t samples, Meter& meter) {
  if (loss.defined()) meter.Add("loss", loss, samples);
  for (const auto& [name, value] : parts) meter.Add(name, value, samples);
}

void AddMetrics(const NamedLosses& metrics, int64_t samples, Meter& meter) {
  for (const auto& [name, value] : metrics) {
    meter.Add(name, value.detach(), samples);
  }
}

at::Tensor TotalLoss(const at::Tensor& loss, const NamedLosses& extras) {
  at::Tensor total = loss;
  for (const auto& [name, value] : extras) {
    total = total.defined() ? total + value : value;
  }
  return total;
}

}  // namespace epochd::engine
