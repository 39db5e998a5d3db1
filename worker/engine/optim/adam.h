// SPDX-License-Identifier: Apache-2.0
//
// Adam and AdamW as torch.optim's; they differ in how weights decay: Adam adds
// to the gradient, AdamW shrinks the weight itself. State: exp_avg,
// exp_avg_sq and, with amsgrad, max_exp_avg_sq.
#pragma once

#include "worker/engine/optim/adam_settings.h"

namespace epochd::engine {

class Adam : public GroupedOptimizer {
 public:
  // Decoupled decay: AdamW.
  using Options = AdamSettings;

  Adam(ParameterGroups groups, const Options& options);

 private:
  void Update(Bundle& bundle, const Group& settings) override;

  const Options options_;
};

}  // namespace epochd::engine
