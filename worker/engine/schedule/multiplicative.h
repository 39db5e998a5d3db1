// SPDX-License-Identifier: Apache-2.0
//
// Schedulers that multiply by constants: torch.optim.lr_scheduler's StepLR,
// MultiStepLR, ExponentialLR and ConstantLR, and MMEngine's of the same names,
// operation by operation, so that values are bit-equal.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "worker/engine/schedule/windowed.h"

namespace epochd::engine {

// Times gamma every `step_size` units.
class StepScheduler : public WindowedScheduler {
 public:
  StepScheduler(int64_t step_size, double gamma,
                const ScheduleOptions& options = {})
      : WindowedScheduler(options), step_size_(step_size), gamma_(gamma) {}

 private:
  double Next(double value, int64_t t, double initial) const override;
  void Stretch(int64_t times) override { step_size_ *= times; }

  int64_t step_size_;
  const double gamma_;
};

// Times gamma at each milestone, as often as it is listed. Milestones count
// from the window's begin.
class MultiStepScheduler : public WindowedScheduler {
 public:
  MultiStepScheduler(std::vector<int64_t> milestones, double gamma,
                     const ScheduleOptions& options = {})
      : WindowedScheduler(options),
        milestones_(std::move(milestones)),
        gamma_(gamma) {}

 private:
  double Next(double value, int64_t t, double initial) const override;
  void Stretch(int64_t times) override;

  std::vector<int64_t> milestones_;
  const double gamma_;
};

// Times gamma every unit.
class ExponentialScheduler : public WindowedScheduler {
 public:
  explicit ExponentialScheduler(double gamma,
                                const ScheduleOptions& options = {})
      : WindowedScheduler(options), gamma_(gamma) {}

 private:
  double Next(double value, int64_t t, double initial) const override;

  const double gamma_;
};

// Times factor for the first `total` units. Without `total` it is the window's
// length less one, which is MMEngine's rule: window 0..4 lowers units 0, 1, 2.
class ConstantScheduler : public WindowedScheduler {
 public:
  ConstantScheduler(double factor, std::optional<int64_t> total,
                    const ScheduleOptions& options = {})
      : WindowedScheduler(options), factor_(factor), total_(total) {}

 private:
  double First(double value, double initial) const override;
  double Next(double value, int64_t t, double initial) const override;
  void Stretch(int64_t times) override;
  bool SetLength(std::optional<int64_t> length) override;

  const double factor_;
  std::optional<int64_t> total_;
};

}  // namespace epochd::engine
