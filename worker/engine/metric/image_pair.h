// SPDX-License-Identifier: Apache-2.0
//
// What metrics of images look at: prediction and truth, without a border and
// as luma where that is asked for, as papers on super-resolution report.
// Pure functions, any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "worker/engine/core/batch.h"
#include "worker/engine/loss/fields.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {

struct ImagePairOptions {
  ComparedFields fields = {};
  // The mask weighs elements of an image, [B] sample weights the images.
  Weighing weighing = {};
  // Pixels left out at each edge.
  int64_t crop_border = 0;
  // Luma of RGB by ITU-R BT.601 in studio range, as MATLAB's rgb2ycbcr:
  // 16/255 + (65.481 R + 128.553 G + 24.966 B) / 255 for values in [0, 1].
  bool luma = false;
  // Greatest minus smallest value that a sample can hold.
  double data_range = 1.0;
};

struct ImagePair {
  at::Tensor output;
  at::Tensor target;
  at::Tensor weights;  // as WeightsOf() gives; undefined: all alike
  at::Tensor samples;  // [B], in double: of each image; undefined: all alike
};

// Throws Error(kTraining) for shapes that differ and, where a border or luma is
// asked for, for other than images [B, C, H, W] (3 channels for luma).
ImagePair ReadImages(const Batch& batch, const ImagePairOptions& options);

}  // namespace epochd::engine
