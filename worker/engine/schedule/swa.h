// SPDX-License-Identifier: Apache-2.0
//
// Anneals from the present rate to a fixed one for weight averaging, as
// torch.optim.swa_utils.SWALR. Give it a begin where the averaging begins.
#pragma once

#include <cstdint>

#include "worker/engine/schedule/windowed.h"

namespace epochd::engine {

class SwaScheduler : public WindowedScheduler {
 public:
  struct Anneal {
    double swa_lr = 0.0;
    int64_t length = 10;
    // By a straight line instead of half a cosine.
    bool is_linear = false;
  };

  explicit SwaScheduler(const Anneal& anneal,
                        const ScheduleOptions& options = {})
      : WindowedScheduler(options), anneal_(anneal) {}

 private:
  double First(double value, double initial) const override;
  double Next(double value, int64_t t, double initial) const override;
  void Stretch(int64_t times) override { anneal_.length *= times; }
  // Share of swa_lr at step `t`.
  double ShareAt(double t) const;

  Anneal anneal_;
};

}  // namespace epochd::engine
