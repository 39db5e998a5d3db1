// SPDX-License-Identifier: Apache-2.0
//
// EarlyStopping by SR-Forge's rule: of the monitored score's last `patience`
// values, some later one must be better than the first by more than min_delta;
// if none is, the training ends. It looks as soon as there are `patience`
// values. NaN never counts as better.
//
//   patience 3, min_delta 0.1, losses 1, .95, .9: ends after the third
#pragma once

#include <deque>

#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class EarlyStopping : public engine::Hook {
 public:
  EarlyStopping(int64_t patience, double min_delta)
      : patience_(patience), min_delta_(min_delta) {}

  const char* name() const override { return "EarlyStopping"; }
  void AttachToTrainer(engine::Trainer& trainer) override;
  nlohmann::ordered_json State() const override;
  void LoadState(const nlohmann::ordered_json& state) override;

  // Takes an epoch's value; true: end the training.
  bool ShouldStop(double value, bool higher_is_better);

 private:
  const int64_t patience_;
  const double min_delta_;
  // The last values, at most patience_ of them.
  std::deque<double> window_;
};

engine::Entry<engine::Hook> EarlyStoppingEntry();

}  // namespace epochd::hooks
