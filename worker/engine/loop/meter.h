// SPDX-License-Identifier: Apache-2.0
//
// Meter: means of losses over an epoch, in double: over samples, so that a last
// batch of fewer counts for less, or over batches. A plain value; crossing
// ranks is a separate act (loop/score_board.h). One thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "worker/engine/hook/context.h"

namespace epochd::engine {

class Meter {
 public:
  enum class Weighting {
    kSamples,  // SR-Forge
    kBatches,  // MMEngine
  };

  Meter() = default;
  // `leaves_out`: values that are not finite count only when there are no
  // others (of training, where such steps are left out; on a CPU alone).
  explicit Meter(Weighting weighting, bool leaves_out = false)
      : weighting_(weighting), leaves_out_(leaves_out) {}

  // `value` is a scalar: a mean over `samples`.
  void Add(std::string_view name, const at::Tensor& value, int64_t samples);
  void Reset() { sums_.clear(); }

  // Adds what another measured, name by name.
  void Include(const Meter& other);
  // Under `prefix` + name, in the order of the first Add(). A name without
  // samples has no mean.
  Scores Means(const std::string& prefix) const;

  // Exact.
  nlohmann::ordered_json State() const;
  void LoadState(const nlohmann::ordered_json& state);

 private:
  struct Sum {
    std::string name;
    double sum = 0;
    double samples = 0;
    bool has_odd = false;  // a value was left out
    // Values still on another device, so that the loop need not wait.
    at::Tensor pending{};
  };
  static double Value(const Sum& sum);
  Sum& Of(std::string_view name);

  Weighting weighting_ = Weighting::kSamples;
  bool leaves_out_ = false;
  std::vector<Sum> sums_;
};

}  // namespace epochd::engine
