// SPDX-License-Identifier: Apache-2.0
//
// What optimizers share that ATen has no fused kernel for: they are put
// together from foreach kernels, each over all tensors of a bundle.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/engine/optim/adam_settings.h"

namespace epochd::engine {

class ForeachOptimizer : public GroupedOptimizer {
 public:
  struct Common {
    // Whether weights shrink themselves, rather than by their gradient.
    bool decoupled_weight_decay = false;
    bool maximize = false;
  };

 protected:
  ForeachOptimizer(ParameterGroups groups, const CommonSettings& settings,
                   std::vector<std::string> state_names, Common common)
      : GroupedOptimizer(std::move(groups), settings, std::move(state_names)),
        common_(common) {}
  ForeachOptimizer(ParameterGroups groups, const AdamSettings& settings,
                   std::vector<std::string> state_names)
      : ForeachOptimizer(
            std::move(groups), settings.of_groups(), std::move(state_names),
            {.decoupled_weight_decay = settings.decoupled_weight_decay,
             .maximize = settings.maximize}) {}

  using Tensors = std::vector<at::Tensor>;

  // `gradients` have the sign and the decay that apply, and must not be
  // changed; weights have shrunk where decay is decoupled. The bundle has no
  // `step`, `steps` or `indices`, and its tensors are changed in place.
  virtual void UpdateFrom(const Tensors& gradients, Bundle& bundle,
                          const Group& settings) = 0;

 private:
  void Update(Bundle& bundle, const Group& settings) final;
  void UpdatePiece(Bundle& bundle, const Group& settings);

  const Common common_;
};

}  // namespace epochd::engine
