// SPDX-License-Identifier: Apache-2.0
//
// R1GradientPenalty: adds weight * mean(|dD(x)/dx|^2) over real images to the
// discriminator's loss. The mean over elements makes the weight independent of
// resolution. Costs one more forward and a double backward pass.
#pragma once

#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class R1GradientPenalty : public engine::Hook {
 public:
  explicit R1GradientPenalty(double weight) : weight_(weight) {}

  const char* name() const override { return "R1GradientPenalty"; }
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  const double weight_;
};

engine::Entry<engine::Hook> R1GradientPenaltyEntry();

}  // namespace epochd::hooks
