// SPDX-License-Identifier: Apache-2.0
//
// WganGradientPenalty: adds weight * mean((|dD(x)/dx| - 1)^2) to the
// discriminator's loss (Gulrajani et al. 2017), at points x between a real and
// a fake image, each at a share of the way that is drawn uniformly for the
// sample. Costs one more forward and a double backward pass.
#pragma once

#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class WganGradientPenalty : public engine::Hook {
 public:
  explicit WganGradientPenalty(double weight) : weight_(weight) {}

  const char* name() const override { return "WganGradientPenalty"; }
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  const double weight_;
};

engine::Entry<engine::Hook> WganGradientPenaltyEntry();

}  // namespace epochd::hooks
