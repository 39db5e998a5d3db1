// SPDX-License-Identifier: Apache-2.0
//
// Stochastic gradient descent as torch.optim.SGD. State: momentum_buffer, with
// momentum only.
#pragma once

#include "worker/engine/optim/grouped.h"

namespace epochd::engine {

class Sgd : public GroupedOptimizer {
 public:
  struct Options {
    double lr = 1e-3;
    double momentum = 0.0;
    double dampening = 0.0;
    double weight_decay = 0.0;
    // Needs momentum and no dampening; throws Error(kBadSpec) otherwise.
    bool nesterov = false;
    bool maximize = false;
  };

  Sgd(const ParameterGroups& groups, const Options& options);

 private:
  Sgd(bool has_momentum, const ParameterGroups& groups, const Options& options);
  void Update(Bundle& bundle, const Group& settings) override;

  const Options options_;
};

}  // namespace epochd::engine
