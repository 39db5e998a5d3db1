// SPDX-License-Identifier: Apache-2.0
//
// RAdam as torch.optim.RAdam: Adam that steps by the mean gradient alone while
// the variance of its denominator is still unknown. State: exp_avg, exp_avg_sq.
#pragma once

#include "worker/engine/optim/foreach.h"

namespace epochd::engine {

class Radam : public ForeachOptimizer {
 public:
  using Options = AdamSettings;

  Radam(ParameterGroups groups, const Options& options);

 private:
  void UpdateFrom(const Tensors& gradients, Bundle& bundle,
                  const Group& settings) override;

  const Options options_;
};

}  // namespace epochd::engine
