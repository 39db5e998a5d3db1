// SPDX-License-Identifier: Apache-2.0
//
// LrScheduler: sets an optimizer's learning rate, once an epoch, by torch's
// recursions (bit-equal where torch's is a recursion). One thread; lives no
// longer than its optimizer.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "worker/engine/core/optimizer.h"

namespace epochd::engine {

class LrScheduler {
 public:
  virtual ~LrScheduler() = default;

  // Sets the optimizer's first learning rate. Called once, before training.
  virtual void Start(Optimizer& optimizer) = 0;
  // An epoch ended. `monitored`: the monitored metric, when there is one.
  virtual void Step(Optimizer& optimizer, std::optional<double> monitored) = 0;
  // Whether Step() needs `monitored`.
  virtual bool needs_metric() const { return false; }
  // Exact round trip (doubles are kept bit for bit).
  virtual nlohmann::ordered_json State() const = 0;
  virtual void LoadState(const nlohmann::ordered_json& state) = 0;
};

}  // namespace epochd::engine
