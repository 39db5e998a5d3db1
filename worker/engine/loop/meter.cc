// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/meter.h"

#include <ATen/ATen.h>

#include <limits>

#include "worker/engine/core/number.h"

namespace epochd::engine {

void Meter::Add(std::string_view name, const at::Tensor& value,
                int64_t samples) {
  Sum* found = nullptr;
  for (Sum& sum : sums_) {
    if (sum.name == name) found = &sum;
  }
  if (found == nullptr) {
    sums_.push_back({.name = std::string(name)});
    found = &sums_.back();
  }
  found->samples += static_cast<double>(samples);
  if (value.is_cpu()) {
    found->sum += value.item<double>() * static_cast<double>(samples);
    return;
  }
  at::Tensor weighted =
      value.detach().to(at::kDouble) * static_cast<double>(samples);
  found->pending =
      found->pending.defined() ? found->pending + weighted : weighted;
}

double Meter::Value(const Sum& sum) {
  return sum.pending.defined() ? sum.sum + sum.pending.item<double>() : sum.sum;
}

at::Tensor Meter::Totals() const {
  at::Tensor totals =
      at::zeros({static_cast<int64_t>(sums_.size()) * 2}, at::kDouble);
  double* values = totals.data_ptr<double>();
  for (size_t i = 0; i < sums_.size(); ++i) {
    values[2 * i] = Value(sums_[i]);
    values[2 * i + 1] = sums_[i].samples;
  }
  return totals;
}

Scores Meter::Means(const at::Tensor& totals, const std::string& prefix) const {
  Scores scores;
  const double* values = totals.const_data_ptr<double>();
  for (size_t i = 0; i < sums_.size(); ++i) {
    const double samples = values[2 * i + 1];
    scores.emplace_back(prefix + sums_[i].name,
                        samples > 0 ? values[2 * i] / samples
                                    : std::numeric_limits<double>::quiet_NaN());
  }
  return scores;
}

nlohmann::ordered_json Meter::State() const {
  nlohmann::ordered_json state = nlohmann::ordered_json::array();
  for (const Sum& sum : sums_) {
    state.push_back({{"name", sum.name},
                     {"sum", FromNumber(Value(sum))},
                     {"samples", sum.samples}});
  }
  return state;
}

void Meter::LoadState(const nlohmann::ordered_json& state) {
  sums_.clear();
  for (const auto& item : state) {
    sums_.push_back({.name = item.at("name").get<std::string>(),
                     .sum = ToNumber(item.at("sum")),
                     .samples = item.at("samples").get<double>()});
  }
}

}  // namespace epochd::engine
