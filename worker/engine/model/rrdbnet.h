// SPDX-License-Identifier: Apache-2.0
//
// RRDBNet, the generator of ESRGAN (Wang et al. 2018), as basicsr's RRDBNet:
// residual blocks of residual dense blocks. Names and order of parameters and
// initial weights of a seed are basicsr's. Reads images [B, C, H, W], returns
// [B, C, H * upscale, W * upscale]; for 2 and 1 the image is first unshuffled
// by 2 and 4, so its sides must be multiples of that.
#pragma once

#include <cstdint>
#include <memory>

#include "worker/engine/model/module_model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct RrdbNetOptions {
  ModelFields fields;
  int64_t in_channels = 3;
  int64_t out_channels = 3;
  int64_t features = 64;
  int64_t blocks = 23;
  int64_t growth = 32;  // channels that each layer of a dense block adds
  int64_t upscale = 4;  // 1, 2 or 4
};

// Throws Error(kBadSpec) for another factor.
std::shared_ptr<Model> MakeRrdbNet(const RrdbNetOptions& options);

Entry<Model> RrdbNetEntry();

}  // namespace epochd::engine
