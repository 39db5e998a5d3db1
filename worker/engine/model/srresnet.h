// SPDX-License-Identifier: Apache-2.0
//
// SRResNet (Ledig et al. 2017) as basicsr's MSRResNet: no normalization, and
// the network adds to the bilinearly enlarged image. Names and order of
// parameters and initial weights of a seed are basicsr's. Reads images
// [B, C, H, W], returns [B, C, H * upscale, W * upscale].
#pragma once

#include <cstdint>
#include <memory>

#include "worker/engine/model/module_model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct SrResNetOptions {
  ModelFields fields;
  int64_t in_channels = 3;
  int64_t out_channels = 3;
  int64_t features = 64;
  int64_t blocks = 16;
  int64_t upscale = 4;  // 2, 3 or 4
};

// Throws Error(kBadSpec) for another factor.
std::shared_ptr<Model> MakeSrResNet(const SrResNetOptions& options);

Entry<Model> SrResNetEntry();

}  // namespace epochd::engine
