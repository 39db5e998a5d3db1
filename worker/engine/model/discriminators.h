// SPDX-License-Identifier: Apache-2.0
//
// Discriminators of image-to-image networks. They read images [B, C, H, W] and
// return logits; names, order and initial weights of a seed are those of
//
//   PatchGan               pix2pix's NLayerDiscriminator, [B, 1, h, w]: a
//                          score for each patch
//   VggDiscriminator       basicsr's VGGStyleDiscriminator, [B, 1]
//   UNetDiscriminator      basicsr's UNetDiscriminatorSN (Real-ESRGAN's), with
//                          spectral normalization, [B, 1, H, W]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/model/module_model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct PatchGanOptions {
  ModelFields fields;
  int64_t in_channels = 3;
  int64_t features = 64;
  int64_t layers = 3;
  // batch, instance (without parameters) or none.
  std::string norm = "batch";
};

struct VggDiscriminatorOptions {
  ModelFields fields;
  int64_t in_channels = 3;
  int64_t features = 64;
  // Sides of the images: 128 or 256 as basicsr; 32 and 64 with fewer layers.
  int64_t size = 128;
};

struct UNetDiscriminatorOptions {
  ModelFields fields;
  int64_t in_channels = 3;
  int64_t features = 64;
  bool skip_connection = true;
};

// Throw Error(kBadSpec) naming what is not accepted.
std::shared_ptr<Model> MakePatchGan(const PatchGanOptions& options);
std::shared_ptr<Model> MakeVggDiscriminator(
    const VggDiscriminatorOptions& options);
std::shared_ptr<Model> MakeUNetDiscriminator(
    const UNetDiscriminatorOptions& options);

Entry<Model> PatchGanEntry();
Entry<Model> VggDiscriminatorEntry();
Entry<Model> UNetDiscriminatorEntry();

}  // namespace epochd::engine
