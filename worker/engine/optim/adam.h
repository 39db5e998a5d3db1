// SPDX-License-Identifier: Apache-2.0
//
// Adam and AdamW as torch.optim's; they differ in how weights decay: Adam adds
// to the gradient, AdamW shrinks the weight itself. State: exp_avg,
// exp_avg_sq and, with amsgrad, max_exp_avg_sq.
#pragma once

#include "worker/engine/optim/grouped.h"

namespace epochd::engine {

class Adam : public GroupedOptimizer {
 public:
  struct Options {
    double lr = 1e-3;
    // Momentum of the groups.
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.0;
    bool amsgrad = false;
    bool maximize = false;
    // AdamW.
    bool decoupled_weight_decay = false;
  };

  Adam(ParameterGroups groups, const Options& options);

 private:
  void Update(Bundle& bundle, const Group& settings) override;

  const Options options_;
};

}  // namespace epochd::engine
