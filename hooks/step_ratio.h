// SPDX-License-Identifier: Apache-2.0
//
// StepRatio: keeps the generator's steps at `ratio` times the discriminator's
// within each epoch. 1: both every batch; 2: DG G DG G ...; 0.5: DG D DG D ...
// The last batch of an epoch trains both.
// Steps of a warm-up do not count, and a warm-up wins whichever of the two
// hooks comes first.
#pragma once

#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class StepRatio : public engine::Hook {
 public:
  explicit StepRatio(double ratio) : ratio_(ratio) {}

  const char* name() const override { return "StepRatio"; }
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  const double ratio_;
};

engine::Entry<engine::Hook> StepRatioEntry();

}  // namespace epochd::hooks
