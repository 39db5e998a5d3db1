// SPDX-License-Identifier: Apache-2.0
//
// Adam and AdamW as torch.optim's; they differ in how weights decay: Adam adds
// to the gradient, AdamW shrinks the weight itself. State: exp_avg,
// exp_avg_sq and, with amsgrad, max_exp_avg_sq.
#pragma once

#include <vector>

#include "worker/engine/optim/fused.h"

namespace epochd::engine {

class Adam : public FusedOptimizer {
 public:
  struct Options {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.0;
    bool amsgrad = false;
    bool maximize = false;
    // AdamW.
    bool decoupled_weight_decay = false;
  };

  Adam(std::vector<NamedTensor> parameters, const Options& options);

 private:
  void Update(const Group& group) override;

  const Options options_;
};

}  // namespace epochd::engine
