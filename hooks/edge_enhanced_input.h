// SPDX-License-Identifier: Apache-2.0
//
// EdgeEnhancedInput: gives a discriminator an image's edges as one more
// channel: the Laplacian [[0,1,0],[1,-4,1],[0,1,0]] of its gray version (one
// channel: itself; three: 0.299 R + 0.587 G + 0.114 B; else their mean). By
// default the fields `real` and `fake` grow by the channel; `src_to_dst` names
// other fields, source to destination. A field that already has the channels
// that the discriminator's first convolution takes is left alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/engine/hook/context.h"
#include "worker/engine/hook/hook.h"
#include "worker/engine/registry/params.h"

namespace epochd::hooks {

class EdgeEnhancedInput : public engine::Hook {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;
  explicit EdgeEnhancedInput(Fields fields) : fields_(std::move(fields)) {}

  const char* name() const override { return "EdgeEnhancedInput"; }
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  void Enhance(engine::GanContext& context) const;

  const Fields fields_;
};

// [B, C, H, W] with one more channel; differentiable.
at::Tensor WithEdges(const at::Tensor& images);

engine::Entry<engine::Hook> EdgeEnhancedInputEntry();

}  // namespace epochd::hooks
