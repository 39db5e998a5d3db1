// SPDX-License-Identifier: Apache-2.0
//
// Data sets of image pairs for restoration and super-resolution. Fields:
// `input`, the low-resolution image, float [C, h, w] in [0, 1], and `target`,
// the high-resolution one, [C, scale * h, scale * w], or with `has_labels` its
// values as they are, int64 [scale * h, scale * w]: a class for each pixel.
// Patches of both show the same part. Column: `image`, the number of the pair
// that a sample is cut from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/image/image.h"
#include "worker/engine/data/image/image_files.h"
#include "worker/engine/data/image/patches.h"
#include "worker/engine/data/image/resample.h"

namespace epochd::engine {

struct PairOptions {
  DecodeOptions decode;
  // In high-resolution pixels; the size must be a multiple of the scale.
  PatchOptions patch;
  int64_t cache_bytes = 0;
  int64_t scale = 0;
  // Of two folders alone: how targets are decoded, where not as inputs are.
  std::optional<ImageMode> target_mode = {};
  bool has_labels = false;
};

// High-resolution images, and their low-resolution versions made from them:
// the whole image is resized in 8 bits, as if it had been stored, once a
// multiple of the scale is cut from its top left. A patch is the same whether
// the whole image was resized or, to save time, the part that it needs.
// Throws Error(kBadSpec).
std::shared_ptr<Dataset> LoadDegradedImages(const ImageFileOptions& files,
                                            Resampling resampling,
                                            const PairOptions& options);

// Two folders whose files are matched by stem: "x.png" of `high` with
// "x<suffix>.*" of `low`. Scale 0: that of the first pair. Throws
// Error(kBadSpec) naming a file without partner.
std::shared_ptr<Dataset> LoadPairedImages(const ImageFileOptions& low,
                                          const std::string& low_suffix,
                                          const ImageFileOptions& high,
                                          const PairOptions& options);

}  // namespace epochd::engine
