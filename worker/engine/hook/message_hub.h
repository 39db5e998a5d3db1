// SPDX-License-Identifier: Apache-2.0
//
// MessageHub: named scalars of a run with their recent past, through which
// hooks tell each other numbers: a clipped norm, times, losses of steps.
// Readers ask for statistics over the last n values, over the epoch, or over
// all. Names are those that logs show, such as "train/grad_norm".
//
// Memory is bounded: a history keeps the last `capacity` values, and sums for
// the longer windows. A scalar that is still on another device is kept as a
// tensor until somebody reads, so that writing never waits. One thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace epochd::engine {

enum class Statistic { kMean, kMin, kMax, kCurrent };
// "mean", "min", "max", "current"; throws std::invalid_argument.
Statistic ParseStatistic(const std::string& name);

class ScalarHistory {
 public:
  // What a statistic looks at, beside a number of values.
  static constexpr int64_t kEpoch = -1;   // since BeginEpoch()
  static constexpr int64_t kGlobal = -2;  // all there ever were

  explicit ScalarHistory(int64_t capacity = 100) : capacity_(capacity) {}

  void Add(double value);
  // A tensor of one element.
  void Add(const at::Tensor& value);
  void BeginEpoch();

  // NaN when there is no value. A window longer than there are values takes
  // those that there are; one beyond the capacity throws std::out_of_range.
  double Get(Statistic statistic, int64_t window) const;
  int64_t count() const;

  nlohmann::ordered_json State() const;
  void LoadState(const nlohmann::ordered_json& state);

 private:
  struct Sum {
    double sum = 0, min = 0, max = 0;
    int64_t count = 0;
    void Add(double value);
    double Get(Statistic statistic, double current) const;
  };
  // Takes over values that were on a device.
  void Settle() const;
  void Take(double value) const;

  const int64_t capacity_;
  mutable std::vector<at::Tensor> pending_;
  // The last values as a ring: next_ is where the next one goes.
  mutable std::vector<double> last_;
  mutable size_t next_ = 0;
  mutable Sum epoch_, global_;
  mutable double current_ = 0;
};

class MessageHub {
 public:
  // A history's capacity; only before its first value.
  void Keep(int64_t capacity) {
    if (capacity > capacity_) capacity_ = capacity;
  }

  ScalarHistory& At(std::string_view name);
  // nullptr: nobody wrote one.
  const ScalarHistory* Find(std::string_view name) const;
  template <class Value>
  void Add(std::string_view name, const Value& value) {
    At(name).Add(value);
  }
  void BeginEpoch();

  // In alphabetical order of names.
  const std::map<std::string, ScalarHistory, std::less<>>& all() const {
    return histories_;
  }
  nlohmann::ordered_json State() const;
  void LoadState(const nlohmann::ordered_json& state);

 private:
  int64_t capacity_ = 100;
  std::map<std::string, ScalarHistory, std::less<>> histories_;
};

// How logs show a scalar: a statistic over a window, under a name.
struct LogRule {
  std::string source;
  Statistic statistic = Statistic::kCurrent;
  int64_t window = 1;
  std::string log_name;
};

// MMEngine's rule for names without one of their own: means over `window`
// where the name says loss, time, data_time or grad_norm, else the last value.
LogRule DefaultLogRule(const std::string& name, int64_t window);

}  // namespace epochd::engine
