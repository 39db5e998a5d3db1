// SPDX-License-Identifier: Apache-2.0
//
// Monitor: the score by which epochs are compared, and the best so far. NaN is
// never the best, also not at first. A plain value.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace epochd::engine {

struct Monitor {
  std::string metric;  // such as "val/accuracy"
  bool higher_is_better = false;
  double best = std::numeric_limits<double>::quiet_NaN();
  int64_t best_epoch = -1;  // -1: there is none; counts from 0

  bool IsBetter(double value, double than) const {
    if (std::isnan(value)) return false;
    if (std::isnan(than)) return true;
    return higher_is_better ? value > than : value < than;
  }
  // True: it is the best so far. Ties keep the older.
  bool Update(double value, int64_t epoch) {
    if (!IsBetter(value, best)) return false;
    best = value;
    best_epoch = epoch;
    return true;
  }
};

}  // namespace epochd::engine
