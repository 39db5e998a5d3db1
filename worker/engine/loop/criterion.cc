// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/criterion.h"

#include <ATen/ATen.h>

#include "worker/engine/core/error.h"
#include "worker/engine/core/scalar.h"
#include "worker/engine/loop/explain.h"
#include "worker/engine/loss/loss_schedule.h"

namespace epochd::engine {

Criterion::Criterion(std::vector<std::shared_ptr<Loss>> losses)
    : losses_(std::move(losses)) {
  SetEpoch(0);
}

void Criterion::SetEpoch(int64_t epoch) {
  terms_.clear();
  for (const std::shared_ptr<Loss>& loss : losses_) {
    auto* const schedule = dynamic_cast<LossSchedule*>(loss.get());
    if (schedule == nullptr) {
      AddTerm(loss, 1.0);
      continue;
    }
    schedule->SetEpoch(epoch);
    for (const std::shared_ptr<Loss>& active : schedule->At(epoch)) {
      AddTerm(active, schedule->weight());
    }
  }
}

void Criterion::AddTerm(const std::shared_ptr<Loss>& loss, double factor) {
  std::string name = loss->name();
  if (name == "loss") {
    throw Error(ErrorKind::kBadSpec,
                "name: \"loss\" is what the sum of losses is called; another "
                "name is accepted");
  }
  for (int number = 2;; ++number) {
    bool is_taken = false;
    for (const Term& term : terms_) is_taken |= term.name == name;
    if (!is_taken) break;
    name = loss->name() + "_" + std::to_string(number);
  }
  terms_.push_back({loss, std::move(name), factor});
}

at::Tensor Criterion::ComputeTerm(const Term& term, const Batch& batch) {
  try {
    return term.loss->Compute(batch);
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    ThrowExplained(error, "loss " + term.name, batch, nullptr);
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with("loss ")) throw;
    throw Error(error.kind(), "loss " + term.name + ": " + message);
  }
}

at::Tensor Criterion::Compute(const Batch& batch, NamedLosses* parts) const {
  std::vector<at::Tensor> values;
  values.reserve(terms_.size());
  for (const Term& term : terms_) values.push_back(ComputeTerm(term, batch));
  return Sum(values, parts);
}

std::vector<std::string> Criterion::PartNames() const {
  std::vector<std::string> names;
  for (const Term& term : terms_) {
    if (terms_.size() > 1 || term.loss->weight() * term.factor != 1.0) {
      names.push_back(term.name);
    }
  }
  return names;
}

double Criterion::NumItems(const Batch& batch) const {
  return terms_.empty() ? static_cast<double>(batch.Size())
                        : terms_.front().loss->NumItems(batch);
}

at::Tensor Criterion::ComputeAt(int64_t step, const Batch& batch,
                                NamedLosses* parts, bool begins_step) const {
  if (balancer_ == nullptr) return Compute(batch, parts);
  std::vector<at::Tensor> values;
  std::vector<LossBalancer::Term> terms;
  for (const Term& term : terms_) {
    values.push_back(ComputeTerm(term, batch));
    terms.push_back({&term.name, term.loss.get(), values.back()});
  }
  if (begins_step) balancer_->MaybeUpdate(step, terms, batch);
  at::Tensor total = Sum(values, parts);
  if (parts != nullptr) {
    for (const Term& term : terms_) {
      parts->emplace_back(
          "weight/" + term.name,
          at::scalar_tensor(balancer_->WeightOf(term.name), at::kDouble));
    }
  }
  return total;
}

at::Tensor Criterion::Sum(const std::vector<at::Tensor>& values,
                          NamedLosses* parts) const {
  at::Tensor total;
  for (size_t i = 0; i < terms_.size(); ++i) {
    const Term& term = terms_[i];
    const double balance =
        balancer_ == nullptr ? 1.0 : balancer_->WeightOf(term.name);
    const double weight = term.loss->weight() * term.factor * balance;
    at::Tensor value = values[i];
    if (parts != nullptr && (terms_.size() > 1 || weight != 1.0)) {
      parts->emplace_back(term.name, WithoutGraph(value));
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

void NameExtraLosses(RunnerContext& context, const NamedLosses& extras) {
  for (const auto& [name, value] : extras) {
    if (name == "loss" || FindLoss(context.losses, name) != nullptr ||
        FindLoss(context.metrics, name) != nullptr) {
      throw Error(ErrorKind::kBadSpec,
                  "extra loss \"" + name +
                      "\": there is a loss or metric of this name; a hook must "
                      "add its losses under names of their own");
    }
    context.losses.emplace_back(name, WithoutGraph(value));
  }
}

void AddMetrics(const NamedLosses& metrics, int64_t samples, Meter& meter) {
  for (const auto& [name, value] : metrics) {
    meter.Add(name, WithoutGraph(value), samples);
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
