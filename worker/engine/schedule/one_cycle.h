// SPDX-License-Identifier: Apache-2.0
//
// One cycle, as torch.optim.lr_scheduler.OneCycleLR and MMEngine's OneCycle
// (which leaves the momentum alone): up from max / div_factor to max, then far
// down, while the momentum goes the other way. The initial values of the
// optimizer do not matter. Throws Error(kBadSpec) when it is to go beyond its
// last step.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "worker/engine/schedule/windowed.h"

namespace epochd::engine {

class OneCycleScheduler : public WindowedScheduler {
 public:
  struct Cycle {
    // One for all groups, or one for each.
    std::vector<double> max_lr;
    // Nothing: the window's length.
    std::optional<int64_t> total{};
    // Share of the steps that rise.
    double pct_start = 0.3;
    // By straight lines instead of half cosines.
    bool is_linear = false;
    // Nothing: where the optimizer has a momentum.
    std::optional<bool> cycle_momentum{};
    double base_momentum = 0.85;
    double max_momentum = 0.95;
    double div_factor = 25.0;
    double final_div_factor = 1e4;
    // Falls as long as it rose, before it falls further.
    bool three_phase = false;
  };

  // Its setting is the learning rate.
  explicit OneCycleScheduler(Cycle cycle, const ScheduleOptions& options = {})
      : WindowedScheduler(options), cycle_(std::move(cycle)) {}

 private:
  // Where a phase ends (as a step), and what it goes between.
  struct Phase {
    double end = 0.0;
    double start_lr = 0.0;
    double end_lr = 0.0;
    double start_momentum = 0.0;
    double end_momentum = 0.0;
  };

  double Next(double value, int64_t, double) const override { return value; }
  void Apply(Optimizer& optimizer, int64_t t) override;
  void Stretch(int64_t times) override;
  bool SetLength(std::optional<int64_t> length) override;
  std::vector<Phase> PhasesFor(double max_lr) const;
  double Between(double start, double end, double share) const;

  Cycle cycle_;
  bool is_of_run_ = false;  // its length
};

}  // namespace epochd::engine
