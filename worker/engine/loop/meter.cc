// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loop/meter.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "worker/engine/core/number.h"
#include "worker/engine/core/scalar.h"

namespace epochd::engine {

Meter::Sum& Meter::Of(std::string_view name) {
  for (Sum& sum : sums_) {
    if (sum.name == name) return sum;
  }
  sums_.push_back({.name = std::string(name)});
  return sums_.back();
}

void Meter::Add(std::string_view name, const at::Tensor& value,
                int64_t samples) {
  Sum& sum = Of(name);
  const double weight =
      weighting_ == Weighting::kSamples ? static_cast<double>(samples) : 1.0;
  if (value.is_cpu()) {
    const double number = ReadScalar(value);
    if (leaves_out_ && !std::isfinite(number)) {
      sum.has_odd = true;
      return;
    }
    sum.samples += weight;
    sum.sum += number * weight;
    return;
  }
  sum.samples += weight;
  const at::Tensor weighted = value.detach().to(at::kDouble) * weight;
  sum.pending = sum.pending.defined() ? sum.pending + weighted : weighted;
}

void Meter::Include(const Meter& other) {
  for (const Sum& each : other.sums_) {
    Sum& sum = Of(each.name);
    sum.sum += Value(each);
    sum.samples += each.samples;
    sum.has_odd |= each.has_odd;
  }
}

double Meter::Value(const Sum& sum) {
  return sum.pending.defined() ? sum.sum + sum.pending.item<double>() : sum.sum;
}

Scores Meter::Means(const std::string& prefix) const {
  Scores scores;
  for (const Sum& sum : sums_) {
    if (sum.samples > 0) {
      scores.emplace_back(prefix + sum.name, Value(sum) / sum.samples);
    } else if (sum.has_odd) {
      scores.emplace_back(prefix + sum.name,
                          std::numeric_limits<double>::quiet_NaN());
    }
  }
  return scores;
}

nlohmann::ordered_json Meter::State() const {
  nlohmann::ordered_json state = nlohmann::ordered_json::array();
  for (const Sum& sum : sums_) {
    state.push_back({{"name", sum.name},
                     {"sum", FromNumber(Value(sum))},
                     {"samples", sum.samples},
                     {"odd", sum.has_odd}});
  }
  return state;
}

void Meter::LoadState(const nlohmann::ordered_json& state) {
  sums_.clear();
  for (const auto& item : state) {
    sums_.push_back({.name = item.at("name").get<std::string>(),
                     .sum = ToNumber(item.at("sum")),
                     .samples = item.at("samples").get<double>(),
                     .has_odd = item.value("odd", false)});
  }
}

}  // namespace epochd::engine
