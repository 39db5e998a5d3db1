// SPDX-License-Identifier: Apache-2.0
//
// Values by table: from milestone k on (counted from the window's begin) it is
// values[k], either kept to the next milestone or approached by straight
// lines. Before the first milestone the first value holds, behind the last one
// the last. What other schedulers made of the setting is lost.
//
//   milestones [0, 5, 10], factors [0, 1, 0.1], linear
//   a warm-up of 5 units, then down to a tenth in 5 more
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "worker/engine/schedule/windowed.h"

namespace epochd::engine {

class PiecewiseScheduler : public WindowedScheduler {
 public:
  struct Table {
    // Ascending.
    std::vector<int64_t> milestones;
    // As many.
    std::vector<double> values;
    // Whether values are factors of each group's initial value. Otherwise
    // they are those of the first group, and the others keep their proportion
    // to it.
    bool are_factors = false;
    bool is_linear = false;
  };

  explicit PiecewiseScheduler(Table table, const ScheduleOptions& options = {})
      : WindowedScheduler(options), table_(std::move(table)) {}

 private:
  double Next(double value, int64_t, double) const override { return value; }
  void Apply(Optimizer& optimizer, int64_t t) override;
  void Stretch(int64_t times) override;

  Table table_;
};

}  // namespace epochd::engine
