// SPDX-License-Identifier: Apache-2.0
//
// Lion, by algorithm 2 of Chen et al., "Symbolic Discovery of Optimization
// Algorithms" (2023): steps of equal size by the sign of a mean of momentum and
// gradient; decay shrinks the weights themselves. State: exp_avg.
#pragma once

#include "worker/engine/optim/foreach.h"

namespace epochd::engine {

class Lion : public ForeachOptimizer {
 public:
  struct Options {
    double lr = 1e-4;
    // Share of the momentum in what is stepped by.
    double beta1 = 0.9;
    // Decay of the momentum.
    double beta2 = 0.99;
    double weight_decay = 0.0;
    bool maximize = false;
  };

  Lion(ParameterGroups groups, const Options& options);

 private:
  void UpdateFrom(const Tensors& gradients, Bundle& bundle,
                  const Group& settings) override;

  const Options options_;
};

}  // namespace epochd::engine
