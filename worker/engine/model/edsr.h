// SPDX-License-Identifier: Apache-2.0
//
// EDSR (Lim et al. 2017) as basicsr's EDSR: names and order of parameters,
// initial weights of a seed. Reads images [B, C, H, W] in [0, 1], returns
// [B, C, H * upscale, W * upscale].
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/engine/model/module_model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

struct EdsrOptions {
  ModelFields fields;
  int64_t in_channels = 3;
  int64_t out_channels = 3;
  int64_t features = 64;
  int64_t blocks = 16;
  int64_t upscale = 4;  // 2, 3, 4 or 8
  // Factor of what each residual block adds.
  double res_scale = 1.0;
  // Inside the network values are (image - mean) * image_range.
  double image_range = 255.0;
  // One for each channel, or one for all.
  std::vector<double> mean = {0.4488, 0.4371, 0.4040};
};

// Throws Error(kBadSpec) naming what does not fit.
std::shared_ptr<Model> MakeEdsr(const EdsrOptions& options);

Entry<Model> EdsrEntry();

}  // namespace epochd::engine
