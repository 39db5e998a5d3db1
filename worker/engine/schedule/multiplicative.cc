// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/multiplicative.h"

#include <algorithm>
#include <cmath>

#include "worker/engine/schedule/number.h"

namespace epochd::engine {

double StepScheduler::Next(double value, int64_t t, double /*initial*/) const {
  return t % step_size_ == 0 ? value * gamma_ : value;
}

double MultiStepScheduler::Next(double value, int64_t t,
                                double /*initial*/) const {
  const auto times = std::count(milestones_.begin(), milestones_.end(), t);
  if (times == 0) return value;
  return value * std::pow(gamma_, static_cast<double>(times));
}

void MultiStepScheduler::Stretch(int64_t times) {
  for (int64_t& milestone : milestones_) milestone *= times;
}

double ExponentialScheduler::Next(double value, int64_t /*t*/,
                                  double /*initial*/) const {
  return value * gamma_;
}

double ConstantScheduler::First(double value, double /*initial*/) const {
  return value * factor_;
}

double ConstantScheduler::Next(double value, int64_t t,
                               double /*initial*/) const {
  return t == total_ ? value * (1.0 / factor_) : value;
}

void ConstantScheduler::Stretch(int64_t times) {
  if (total_.has_value()) *total_ *= times;
}

bool ConstantScheduler::SetLength(std::optional<int64_t> length) {
  if (total_.has_value()) return false;
  total_ = RequireLength(length, "total_iters") - 1;
  return true;
}

}  // namespace epochd::engine
