// SPDX-License-Identifier: Apache-2.0
//
// Bicubic enlargement as a model, to measure super-resolution against: Keys'
// cubic with a = -0.5, as Pillow and MATLAB enlarge, cut off at [0, 1]. It has
// no parameters, so it is measured (`task: validate`) and not trained. Reads
// images [B, C, H, W] in [0, 1], returns [B, C, H * upscale, W * upscale].
#pragma once

#include "worker/engine/core/model.h"
#include "worker/engine/registry/params.h"

namespace epochd::engine {

Entry<Model> BicubicEntry();

}  // namespace epochd::engine
