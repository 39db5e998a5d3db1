// SPDX-License-Identifier: Apache-2.0
//
// Data sets of single images in folders. Fields: `input`, [C, H, W], and, of
// ImageFolder, `target`, the class (int64 scalar). Columns: `target`, and
// `image`, the number of the file that a sample is cut from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/data/image/image.h"
#include "worker/engine/data/image/image_files.h"
#include "worker/engine/data/image/patches.h"

namespace epochd::engine {

struct ImageDataOptions {
  ImageFileOptions files;
  DecodeOptions decode;
  PatchOptions patch;
  int64_t cache_bytes = 0;
  // float32 in [0, 1]; otherwise uint8, for transforms to go on with.
  bool as_float = true;
};

// All images below the folder. Throws Error(kBadSpec).
std::shared_ptr<Dataset> LoadImageFiles(const ImageDataOptions& options);

// torchvision's layout: a folder for each class with its images below it.
// Classes are numbered by their sorted names, or as `classes` lists them.
std::shared_ptr<Dataset> LoadImageFolder(
    const ImageDataOptions& options, const std::vector<std::string>& classes);

}  // namespace epochd::engine
