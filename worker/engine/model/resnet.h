// SPDX-License-Identifier: Apache-2.0
//
// ResNet 18, 34 and 50 as torchvision's resnet18, resnet34 and resnet50: the
// names of parameters and buffers, their order, and the initial weights from
// the same seed. Reads images [B, C, H, W], returns logits [B, num_classes].
#pragma once

#include <cstdint>
#include <memory>

#include "worker/engine/model/module_model.h"

namespace epochd::engine {

struct ResNetOptions {
  ModelFields fields;
  int64_t depth = 18;  // 18, 34 or 50
  int64_t in_channels = 3;
  int64_t num_classes = 1000;
  // For images of about 32 pixels: conv1 is 3x3 with stride 1 and there is no
  // max pooling.
  bool small_image_stem = false;
};

// Throws Error(kBadSpec) for another depth.
std::shared_ptr<Model> MakeResNet(const ResNetOptions& options);

}  // namespace epochd::engine
