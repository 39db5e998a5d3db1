// SPDX-License-Identifier: Apache-2.0
//
// NAdam as torch.optim.NAdam: Adam with Nesterov's look ahead. State: exp_avg,
// exp_avg_sq, and the number mu_product (of all momenta so far).
#pragma once

#include "worker/engine/optim/foreach.h"

namespace epochd::engine {

class Nadam : public ForeachOptimizer {
 public:
  struct Options : AdamSettings {
    double momentum_decay = 4e-3;
  };

  Nadam(ParameterGroups groups, const Options& options);

 private:
  void UpdateFrom(const Tensors& gradients, Bundle& bundle,
                  const Group& settings) override;
  std::string scalar_name() const override { return "mu_product"; }

  const Options options_;
};

}  // namespace epochd::engine
