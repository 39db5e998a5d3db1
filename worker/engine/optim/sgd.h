// SPDX-License-Identifier: Apache-2.0
//
// Stochastic gradient descent as torch.optim.SGD. State: momentum_buffer, with
// momentum only.
#pragma once

#include <vector>

#include "worker/engine/optim/fused.h"

namespace epochd::engine {

class Sgd : public FusedOptimizer {
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

  Sgd(std::vector<NamedTensor> parameters, const Options& options);

 private:
  void Update(const Group& group) override;

  const Options options_;
};

}  // namespace epochd::engine
