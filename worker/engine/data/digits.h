// SPDX-License-Identifier: Apache-2.0
//
// Handwritten digits as CSV (plain or gzip), one sample a line: the grey
// levels of a square image, then the label. Fields: `input` (float, [H*W], or
// [1, H, W] as images) and `target` (int64 scalar).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "worker/engine/core/dataset.h"

namespace epochd::engine {

struct DigitsOptions {
  std::string file;
  // "train", "val" (a seeded, stratified part of each class), or "all".
  std::string split = "train";
  double val_fraction = 0.2;
  uint64_t split_seed = 0;
  bool image = false;
};

// Throws Error naming file, line and column.
std::shared_ptr<Dataset> LoadDigits(const DigitsOptions& options);

}  // namespace epochd::engine
