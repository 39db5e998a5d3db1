// SPDX-License-Identifier: Apache-2.0
//
// Schedulers that begin again and again, each time from the initial values:
// what other schedulers made of them is lost then. Names and rules are torch's
// and MMEngine's, operation by operation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "worker/engine/schedule/annealing.h"

namespace epochd::engine {

// MMEngine's CosineRestart: in period k from weights[k] times the initial value
// down to the least one; behind the last period values stay.
class CosineRestartScheduler : public WindowedScheduler {
 public:
  // As many weights as periods.
  CosineRestartScheduler(std::vector<int64_t> periods,
                         std::vector<double> weights,
                         CosineAnnealingScheduler::Least least,
                         const ScheduleOptions& options = {})
      : WindowedScheduler(options),
        periods_(std::move(periods)),
        weights_(std::move(weights)),
        least_(least) {}

 private:
  double First(double value, double initial) const override;
  double Next(double value, int64_t t, double initial) const override;
  void Stretch(int64_t times) override;

  std::vector<int64_t> periods_;
  const std::vector<double> weights_;
  const CosineAnnealingScheduler::Least least_;
};

// torch's CosineAnnealingWarmRestarts: without end, each period `multiplier`
// times as long as the one before.
class WarmRestartsScheduler : public WindowedScheduler {
 public:
  WarmRestartsScheduler(int64_t period, int64_t multiplier, double least,
                        const ScheduleOptions& options = {})
      : WindowedScheduler(options),
        period_(period),
        multiplier_(multiplier),
        least_(least) {}

 private:
  double First(double value, double initial) const override;
  double Next(double value, int64_t t, double initial) const override;
  void Stretch(int64_t times) override { period_ *= times; }

  int64_t period_;
  const int64_t multiplier_;
  const double least_;
};

}  // namespace epochd::engine
