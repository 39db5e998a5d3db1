// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/hook/message_hub.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "worker/engine/core/number.h"
#include "worker/engine/core/scalar.h"

namespace epochd::engine {
namespace {

// More are taken over even if nobody reads.
constexpr size_t kMostPending = 256;

double Missing() { return std::numeric_limits<double>::quiet_NaN(); }

}  // namespace

Statistic ParseStatistic(const std::string& name) {
  if (name == "mean") return Statistic::kMean;
  if (name == "min") return Statistic::kMin;
  if (name == "max") return Statistic::kMax;
  if (name == "current") return Statistic::kCurrent;
  throw std::invalid_argument("\"" + name +
                              "\"; mean, min, max and current are accepted");
}

void ScalarHistory::Sum::Add(double value) {
  min = count == 0 ? value : std::min(min, value);
  max = count == 0 ? value : std::max(max, value);
  sum += value;
  ++count;
}

double ScalarHistory::Sum::Get(Statistic statistic, double current) const {
  if (count == 0) return Missing();
  switch (statistic) {
    case Statistic::kMean:
      return sum / static_cast<double>(count);
    case Statistic::kMin:
      return min;
    case Statistic::kMax:
      return max;
    case Statistic::kCurrent:
      return current;
  }
  return Missing();
}

void ScalarHistory::Take(double value) const {
  if (static_cast<int64_t>(last_.size()) < capacity_) {
    last_.push_back(value);
  } else {
    last_[next_] = value;
  }
  next_ = (next_ + 1) % static_cast<size_t>(capacity_);
  epoch_.Add(value);
  global_.Add(value);
  current_ = value;
}

void ScalarHistory::Add(double value) {
  Settle();
  Take(value);
}

void ScalarHistory::Add(const at::Tensor& value) {
  if (value.is_cpu()) {
    Add(ReadScalar(value));
    return;
  }
  pending_.push_back(value.detach().reshape({}));
  if (pending_.size() >= kMostPending) Settle();
}

void ScalarHistory::Settle() const {
  if (pending_.empty()) return;
  const at::Tensor values = at::stack(pending_).to(at::kCPU, at::kDouble);
  pending_.clear();
  for (int64_t i = 0; i < values.numel(); ++i) {
    Take(values.const_data_ptr<double>()[i]);
  }
}

void ScalarHistory::BeginEpoch() {
  Settle();
  epoch_ = {};
}

int64_t ScalarHistory::count() const {
  Settle();
  return global_.count;
}

double ScalarHistory::Get(Statistic statistic, int64_t window) const {
  Settle();
  if (window == kEpoch) return epoch_.Get(statistic, current_);
  if (window == kGlobal) return global_.Get(statistic, current_);
  if (window < 1 || window > capacity_) {
    throw std::out_of_range("a window of " + std::to_string(window) +
                            " values; 1 to " + std::to_string(capacity_) +
                            " are kept");
  }
  Sum sum;
  const size_t size = last_.size();
  const size_t taken = std::min(size, static_cast<size_t>(window));
  for (size_t i = taken; i > 0; --i) {
    const size_t newest = next_ + static_cast<size_t>(capacity_);
    sum.Add(last_[(newest - i) % static_cast<size_t>(capacity_)]);
  }
  return sum.Get(statistic, current_);
}

nlohmann::ordered_json ScalarHistory::State() const {
  Settle();
  auto of = [](const Sum& sum) -> nlohmann::ordered_json {
    return {FromNumber(sum.sum), FromNumber(sum.min), FromNumber(sum.max),
            sum.count};
  };
  nlohmann::ordered_json last = nlohmann::ordered_json::array();
  for (size_t i = 0; i < last_.size(); ++i) {
    // Oldest first.
    const size_t first =
        static_cast<int64_t>(last_.size()) < capacity_ ? 0 : next_;
    last.push_back(FromNumber(last_[(first + i) % last_.size()]));
  }
  return {{"last", last}, {"epoch", of(epoch_)}, {"global", of(global_)}};
}

void ScalarHistory::LoadState(const nlohmann::ordered_json& state) {
  auto to = [](const nlohmann::ordered_json& json) {
    return Sum{.sum = ToNumber(json.at(0)),
               .min = ToNumber(json.at(1)),
               .max = ToNumber(json.at(2)),
               .count = json.at(3).get<int64_t>()};
  };
  pending_.clear();
  last_.clear();
  next_ = 0;
  for (const auto& value : state.at("last")) Take(ToNumber(value));
  epoch_ = to(state.at("epoch"));
  global_ = to(state.at("global"));
}

ScalarHistory& MessageHub::At(std::string_view name) {
  auto found = histories_.find(name);
  if (found == histories_.end()) {
    found =
        histories_.emplace(std::string(name), ScalarHistory(capacity_)).first;
  }
  return found->second;
}

const ScalarHistory* MessageHub::Find(std::string_view name) const {
  auto found = histories_.find(name);
  return found == histories_.end() ? nullptr : &found->second;
}

void MessageHub::BeginEpoch() {
  for (auto& [name, history] : histories_) history.BeginEpoch();
}

nlohmann::ordered_json MessageHub::State() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, history] : histories_) json[name] = history.State();
  return json;
}

void MessageHub::LoadState(const nlohmann::ordered_json& state) {
  for (const auto& [name, history] : state.items()) {
    At(name).LoadState(history);
  }
}

LogRule DefaultLogRule(const std::string& name, int64_t window) {
  for (const char* part : {"loss", "time", "grad_norm"}) {
    if (name.find(part) != std::string::npos) {
      return {name, Statistic::kMean, window, name};
    }
  }
  return {name, Statistic::kCurrent, 1, name};
}

}  // namespace epochd::engine
