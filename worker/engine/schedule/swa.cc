// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/schedule/swa.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace epochd::engine {

double SwaScheduler::ShareAt(double t) const {
  const double length =
      static_cast<double>(std::max<int64_t>(1, anneal_.length));
  const double share = std::clamp(t / length, 0.0, 1.0);
  return anneal_.is_linear ? share
                           : (1 - std::cos(std::numbers::pi * share)) / 2;
}

double SwaScheduler::First(double value, double initial) const {
  return Next(value, 0, initial);
}

double SwaScheduler::Next(double value, int64_t t, double /*initial*/) const {
  if (anneal_.length == 0) t = std::max<int64_t>(1, t);
  const double before = ShareAt(static_cast<double>(t - 1));
  const double now = ShareAt(static_cast<double>(t));
  // The rate that `value` was annealed from.
  const double origin = before == 1.0
                            ? anneal_.swa_lr
                            : (value - before * anneal_.swa_lr) / (1 - before);
  return anneal_.swa_lr * now + origin * (1 - now);
}

}  // namespace epochd::engine
