// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/annealing.h"

#include <cmath>
#include <numbers>

#include "worker/engine/schedule/number.h"

namespace epochd::engine {

double LinearScheduler::First(double value, double /*initial*/) const {
  return value * ramp_.start_factor;
}

double LinearScheduler::Next(double value, int64_t t, double initial) const {
  const int64_t total = *ramp_.total;
  if (t > total) return value;
  const double rise = ramp_.end_factor - ramp_.start_factor;
  if (ramp_.start_factor == 0.0) {
    return initial *
           (rise * static_cast<double>(t) / static_cast<double>(total));
  }
  return value *
         (1.0 + rise / (static_cast<double>(total) * ramp_.start_factor +
                        static_cast<double>(t - 1) * rise));
}

void LinearScheduler::Stretch(int64_t times) {
  if (ramp_.total.has_value()) *ramp_.total *= times;
}

bool LinearScheduler::SetLength(std::optional<int64_t> length) {
  if (ramp_.total.has_value()) return false;
  ramp_.total = RequireLength(length, "total_iters") - 1;
  return true;
}

double CosineAnnealingScheduler::Next(double value, int64_t t,
                                      double initial) const {
  constexpr double kPi = std::numbers::pi;
  const double t_max = static_cast<double>(*t_max_);
  const double least = least_.Of(initial);
  // The quotient below is 0/0 one unit behind each minimum.
  if (t > *t_max_ && (t - 1 - *t_max_) % (2 * *t_max_) == 0) {
    return value + (initial - least) * (1 - std::cos(kPi / t_max)) / 2;
  }
  const double now = static_cast<double>(t);
  return (1 + std::cos(kPi * now / t_max)) /
             (1 + std::cos(kPi * (now - 1) / t_max)) * (value - least) +
         least;
}

void CosineAnnealingScheduler::Stretch(int64_t times) {
  if (t_max_.has_value()) *t_max_ *= times;
}

bool CosineAnnealingScheduler::SetLength(std::optional<int64_t> length) {
  if (t_max_.has_value()) return false;
  t_max_ = RequireLength(length, "t_max");
  return true;
}

double PolyScheduler::Next(double value, int64_t t, double /*initial*/) const {
  const int64_t total = *total_;
  if (t > total) return value;
  if (curve_.total.has_value()) {
    const double all = static_cast<double>(total);
    const double left = 1.0 - static_cast<double>(t) / all;
    const double left_before = 1.0 - static_cast<double>(t - 1) / all;
    return value * std::pow(left / left_before, curve_.power);
  }
  const double share = 1 - 1 / static_cast<double>(total - t + 1);
  return (value - curve_.eta_min) * std::pow(share, curve_.power) +
         curve_.eta_min;
}

void PolyScheduler::Stretch(int64_t times) {
  if (total_.has_value()) *total_ *= times;
}

bool PolyScheduler::SetLength(std::optional<int64_t> length) {
  if (total_.has_value()) return false;
  total_ = RequireLength(length, "total_iters") - 1;
  return true;
}

}  // namespace epochd::engine
