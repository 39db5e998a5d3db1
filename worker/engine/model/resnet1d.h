// SPDX-License-Identifier: Apache-2.0
//
// ResNet for signals: torchvision's ResNet of basic blocks with its layers made
// one-dimensional, and so its names: conv1, bn1, layer1.0.conv1, ..., fc.
// Reads signals [B, leads, samples], returns logits [B, num_classes].
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/engine/model/module_model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct ResNet1dOptions {
  ModelFields fields;
  int64_t in_channels = 12;
  int64_t num_classes = 2;
  // Blocks of each stage; a stage after the first halves and doubles the
  // channels. [2, 2, 2, 2] is ResNet-18, [3, 4, 6, 3] ResNet-34.
  std::vector<int64_t> blocks = {2, 2, 2, 2};
  int64_t width = 64;       // channels of the first stage
  int64_t kernel = 3;       // of the blocks, odd
  int64_t stem_kernel = 7;  // odd
  double dropout = 0.0;     // before the last layer
};

// Throws Error(kBadSpec) for an even kernel or no stage.
std::shared_ptr<Model> MakeResNet1d(const ResNet1dOptions& options);

Entry<Model> ResNet1dEntry();

}  // namespace epochd::engine
