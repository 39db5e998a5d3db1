// SPDX-License-Identifier: Apache-2.0
//
// Adagrad as torch.optim.Adagrad, by ATen's fused kernel. State: sum.
#pragma once

#include "worker/engine/optim/grouped.h"

namespace epochd::engine {

class Adagrad : public GroupedOptimizer {
 public:
  struct Options {
    double lr = 1e-2;
    double lr_decay = 0.0;
    double weight_decay = 0.0;
    double initial_accumulator_value = 0.0;
    double eps = 1e-10;
    bool maximize = false;
  };

  Adagrad(ParameterGroups groups, const Options& options);

 private:
  void Update(Bundle& bundle, const Group& settings) override;
  double InitialState() const override {
    return options_.initial_accumulator_value;
  }

  const Options options_;
};

}  // namespace epochd::engine
