// SPDX-License-Identifier: Apache-2.0
//
// Lowers the learning rate when the monitored metric stops improving, as
// torch.optim.lr_scheduler.ReduceLROnPlateau. NaN counts as no improvement.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "worker/engine/core/lr_scheduler.h"

namespace epochd::engine {

class PlateauScheduler : public LrScheduler {
 public:
  struct Options {
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
    double min_lr = 0.0;
    // Smaller changes are not made.
    double eps = 1e-8;
  };

  explicit PlateauScheduler(const Options& options);

  void Start(Optimizer& optimizer) override;
  // Throws Error(kBadSpec) without `monitored`.
  void Step(Optimizer& optimizer, std::optional<double> monitored) override;
  bool needs_metric() const override { return true; }
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

 private:
  bool IsBetter(double value) const;
  void Reset();

  const Options options_;
  double best_ = 0.0;
  int64_t num_bad_epochs_ = 0;
  int64_t cooldown_left_ = 0;
};

}  // namespace epochd::engine
