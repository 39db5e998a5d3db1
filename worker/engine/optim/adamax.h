// SPDX-License-Identifier: Apache-2.0
//
// Adamax as torch.optim.Adamax: Adam by the greatest gradient instead of the
// mean square. State: exp_avg, exp_inf.
#pragma once

#include "worker/engine/optim/foreach.h"

namespace epochd::engine {

class Adamax : public ForeachOptimizer {
 public:
  using Options = AdamSettings;

  Adamax(ParameterGroups groups, const Options& options);

 private:
  void UpdateFrom(const Tensors& gradients, Bundle& bundle,
                  const Group& settings) override;

  const Options options_;
};

}  // namespace epochd::engine
