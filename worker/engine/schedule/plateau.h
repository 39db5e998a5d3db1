// SPDX-License-Identifier: Apache-2.0
//
// Lowers a setting when the monitored metric stops improving, as
// torch.optim.lr_scheduler.ReduceLROnPlateau and MMEngine's. NaN counts as no
// improvement.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "worker/engine/schedule/windowed.h"

namespace epochd::engine {

class PlateauScheduler : public Scheduler {
 public:
  struct Options {
    Setting setting = Setting::kLr;
    // Name of the score; empty: the one the run is monitored by.
    std::string monitor{};
    // Whether a score that is not measured is an error.
    bool is_strict = true;
    // Whether a greater value is better.
    bool maximize = false;
    double factor = 0.1;
    // Epochs without improvement that are let pass.
    int64_t patience = 10;
    // What counts as improvement: relative to the best, or absolute.
    double threshold = 1e-4;
    bool absolute_threshold = false;
    // Epochs after a reduction in which bad ones do not count.
    int64_t cooldown = 0;
    // Least value.
    double least = 0.0;
    // Smaller changes are not made.
    double eps = 1e-8;
    // Epochs in which it looks at the score: begin <= epoch < end.
    int64_t begin = 0;
    std::optional<int64_t> end{};
  };

  explicit PlateauScheduler(const Options& options);

  ScheduleUnit unit() const override { return ScheduleUnit::kEpoch; }
  void Fit(const RunLength&) override {}
  void Start(Optimizer& optimizer) override;
  // Without `monitored` the epoch counts for begin and end alone.
  void Step(Optimizer& optimizer, std::optional<double> monitored) override;
  void Observe(Optimizer& optimizer, double monitored) override;
  bool needs_metric() const override { return true; }
  bool can_redo() const override { return true; }
  void Redo(Optimizer& optimizer) override;
  std::string monitor() const override { return options_.monitor; }
  bool is_strict() const override { return options_.is_strict; }
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

 private:
  bool IsBetter(double value) const;
  void Reset();
  void Lower(Optimizer& optimizer) const;

  const Options options_;
  int64_t steps_ = 0;
  double best_ = 0.0;
  int64_t num_bad_epochs_ = 0;
  int64_t cooldown_left_ = 0;
  int64_t reductions_ = 0;
};

}  // namespace epochd::engine
