// SPDX-License-Identifier: Apache-2.0
//
// Meter: means of losses over an epoch, weighted by samples, in double. A
// plain value; crossing ranks is a separate act (Totals, then Means of the
// sum). One thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "worker/engine/hook/context.h"

namespace epochd::engine {

class Meter {
 public:
  // `value` is a scalar: a mean over `samples`.
  void Add(std::string_view name, const at::Tensor& value, int64_t samples);
  void Reset() { sums_.clear(); }

  // [sum, samples, sum, samples, ...] in order of first Add(); names are the
  // same on all ranks. CPU doubles.
  at::Tensor Totals() const;
  // Means of such totals, under `prefix` + name; NaN without samples.
  Scores Means(const at::Tensor& totals, const std::string& prefix) const;

  // Exact.
  nlohmann::ordered_json State() const;
  void LoadState(const nlohmann::ordered_json& state);

 private:
  struct Sum {
    std::string name;
    double sum = 0;
    double samples = 0;
    // Values still on another device, so that the loop need not wait.
    at::Tensor pending{};
  };
  static double Value(const Sum& sum);

  std::vector<Sum> sums_;
};

}  // namespace epochd::engine
