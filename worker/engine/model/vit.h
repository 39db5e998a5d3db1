// SPDX-License-Identifier: Apache-2.0
//
// Vision Transformer (Dosovitskiy et al. 2021) as torchvision's
// VisionTransformer: names and order of parameters. Reads images
// [B, C, size, size], returns logits [B, num_classes].
#pragma once

#include <cstdint>
#include <memory>

#include "worker/engine/model/module_model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct VitOptions {
  ModelFields fields;
  int64_t in_channels = 3;
  int64_t image_size = 32;
  int64_t patch_size = 4;
  int64_t layers = 6;
  int64_t heads = 4;
  int64_t hidden = 128;
  int64_t mlp = 256;
  double dropout = 0.0;
  int64_t num_classes = 10;
};

// Throws Error(kBadSpec) naming sizes that do not divide.
std::shared_ptr<Model> MakeVit(const VitOptions& options);

Entry<Model> VitEntry();

}  // namespace epochd::engine
