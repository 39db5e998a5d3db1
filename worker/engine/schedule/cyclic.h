// SPDX-License-Identifier: Apache-2.0
//
// Up and down between two rates again and again, as
// torch.optim.lr_scheduler.CyclicLR, while the momentum goes the other way.
// The initial values of the optimizer do not matter.
#pragma once

#include <cstdint>
#include <optional>

#include "worker/engine/schedule/windowed.h"

namespace epochd::engine {

class CyclicScheduler : public WindowedScheduler {
 public:
  // How the height of cycle n (from 1) shrinks: not, by half each, or by
  // gamma with each step.
  enum class Mode { kTriangular, kTriangular2, kExpRange };
  struct Cycle {
    double base_lr = 0.0;
    double max_lr = 0.0;
    int64_t step_size_up = 2000;
    // Nothing: as many.
    std::optional<int64_t> step_size_down{};
    Mode mode = Mode::kTriangular;
    double gamma = 1.0;
    // Nothing: where the optimizer has a momentum.
    std::optional<bool> cycle_momentum{};
    double base_momentum = 0.8;
    double max_momentum = 0.9;
  };

  explicit CyclicScheduler(const Cycle& cycle,
                           const ScheduleOptions& options = {})
      : WindowedScheduler(options), cycle_(cycle) {}

 private:
  double Next(double value, int64_t, double) const override { return value; }
  void Apply(Optimizer& optimizer, int64_t t) override;
  void Stretch(int64_t times) override;

  Cycle cycle_;
};

}  // namespace epochd::engine
