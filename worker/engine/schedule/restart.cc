// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/restart.h"

#include <cmath>
#include <numbers>

namespace epochd::engine {

double CosineRestartScheduler::First(double value, double initial) const {
  return Next(value, 0, initial);
}

double CosineRestartScheduler::Next(double value, int64_t t,
                                    double initial) const {
  const double least = least_.Of(initial);
  for (size_t k = 0; k < periods_.size(); ++k) {
    if (t >= periods_[k]) {
      t -= periods_[k];
      continue;
    }
    if (t == 0) return initial * weights_[k];
    const auto now = static_cast<double>(t);
    const auto period = static_cast<double>(periods_[k]);
    return (1 + std::cos(std::numbers::pi * now / period)) /
               (1 + std::cos(std::numbers::pi * (now - 1) / period)) *
               (value - least) +
           least;
  }
  return value;
}

void CosineRestartScheduler::Stretch(int64_t times) {
  for (int64_t& period : periods_) period *= times;
}

double WarmRestartsScheduler::First(double value, double initial) const {
  return Next(value, 0, initial);
}

double WarmRestartsScheduler::Next(double /*value*/, int64_t t,
                                   double initial) const {
  int64_t period = period_;
  if (multiplier_ == 1) {
    t %= period;
  } else {
    while (t >= period) {
      t -= period;
      period *= multiplier_;
    }
  }
  return least_ + (initial - least_) *
                      (1 + std::cos(std::numbers::pi * static_cast<double>(t) /
                                    static_cast<double>(period))) /
                      2;
}

}  // namespace epochd::engine
