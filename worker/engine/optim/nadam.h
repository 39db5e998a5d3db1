// SPDX-License-Identifier: Apache-2.0
//
// NAdam as torch.optim.NAdam: Adam with Nesterov's look ahead. State: exp_avg,
// exp_avg_sq, and the number mu_product (of all momenta so far).
#pragma once

#include "worker/engine/optim/foreach.h"

namespace epochd::engine {

class Nadam : public ForeachOptimizer {
 public:
  struct Options {
    double lr = 2e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.0;
    double momentum_decay = 4e-3;
    bool decoupled_weight_decay = false;
    bool maximize = false;
  };

  Nadam(ParameterGroups groups, const Options& options);

 private:
  void UpdateFrom(const Tensors& gradients, Bundle& bundle,
                  const Group& settings) override;
  std::string scalar_name() const override { return "mu_product"; }

  const Options options_;
};

}  // namespace epochd::engine
