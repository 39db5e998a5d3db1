// SPDX-License-Identifier: Apache-2.0
//
// RMSprop as torch.optim.RMSprop. State: square_avg, with momentum
// momentum_buffer, and centered grad_avg.
#pragma once

#include "worker/engine/optim/foreach.h"

namespace epochd::engine {

class Rmsprop : public ForeachOptimizer {
 public:
  struct Options {
    double lr = 1e-2;
    double alpha = 0.99;
    double eps = 1e-8;
    double weight_decay = 0.0;
    double momentum = 0.0;
    // Divides by the deviation instead of the root of the mean square.
    bool centered = false;
    bool maximize = false;
  };

  Rmsprop(const ParameterGroups& groups, const Options& options);

 private:
  Rmsprop(bool has_momentum, const ParameterGroups& groups,
          const Options& options);
  void UpdateFrom(const Tensors& gradients, Bundle& bundle,
                  const Group& settings) override;

  const Options options_;
  // Where the buffers are among a bundle's states.
  const size_t average_index_;
};

}  // namespace epochd::engine
