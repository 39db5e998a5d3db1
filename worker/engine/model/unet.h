// SPDX-License-Identifier: Apache-2.0
//
// U-Net (Ronneberger et al. 2015) with the names, order and initial weights of
// mateuszbuda/brain-segmentation-pytorch, which torch.hub loads: four halvings,
// batch normalization behind each convolution, a sigmoid at the end. Reads
// images [B, C, H, W] with sides that are multiples of 16, returns
// [B, out_channels, H, W].
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "worker/engine/model/module_model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct UNetOptions {
  ModelFields fields;
  int64_t in_channels = 3;
  int64_t out_channels = 1;
  int64_t features = 32;  // channels at full size
  // sigmoid, or none for losses that take logits.
  std::string activation = "sigmoid";
};

// Throws Error(kBadSpec) for an unknown activation.
std::shared_ptr<Model> MakeUNet(const UNetOptions& options);

Entry<Model> UNetEntry();

}  // namespace epochd::engine
