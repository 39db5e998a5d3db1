// SPDX-License-Identifier: Apache-2.0
//
// EdgeEnhancedInput: gives a model an image's edges as one more channel: the
// Laplacian [[0,1,0],[1,-4,1],[0,1,0]] of its gray version (one channel:
// itself; three: 0.299 R + 0.587 G + 0.114 B; else their mean). The field
// `input` grows by the channel before each pass; of a GAN it is the
// discriminator that sees edges: `real` and `fake` grow in its steps, where
// they have not the channels yet that its first convolution takes. `src_to_dst`
// names other fields, source to destination.
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
  // Without fields: those said above.
  explicit EdgeEnhancedInput(Fields fields) : fields_(std::move(fields)) {}

  const char* name() const override { return "EdgeEnhancedInput"; }
  void AttachToTraining(engine::TrainingRunner& runner) override;
  void AttachToValidation(engine::ValidationRunner& runner) override;
  void AttachToPrediction(engine::PredictionRunner& runner) override;
  void AttachToGan(engine::GanTrainingRunner& runner) override;

 private:
  void Enhance(engine::Model& model, engine::Batch& batch) const;
  void EnhanceForGan(engine::GanContext& context) const;

  const Fields fields_;
};

// [B, C, H, W] with one more channel; differentiable.
at::Tensor WithEdges(const at::Tensor& images);

engine::Entry<engine::Hook> EdgeEnhancedInputEntry();

}  // namespace epochd::hooks
