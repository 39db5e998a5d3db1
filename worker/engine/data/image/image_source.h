// SPDX-License-Identifier: Apache-2.0
//
// ImageSource: files, decoded on demand and kept in a cache as far as it goes.
// Thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/engine/data/image/image.h"
#include "worker/engine/data/image/image_cache.h"

namespace epochd::engine {

class ImageSource {
 public:
  // Uses the slots [first_slot, first_slot + files.size()) of the cache.
  ImageSource(std::vector<std::string> files, const DecodeOptions& options,
              std::shared_ptr<ImageCache> cache, int64_t first_slot)
      : files_(std::move(files)),
        options_(options),
        cache_(std::move(cache)),
        first_slot_(first_slot) {}

  int64_t size() const { return static_cast<int64_t>(files_.size()); }
  const std::string& path(int64_t i) const { return files_[i]; }
  const std::vector<std::string>& paths() const { return files_; }
  const DecodeOptions& options() const { return options_; }
  // From the file's header.
  ImageInfo Info(int64_t i) const;

  // Image i, uint8 [C, H, W], not to be written to.
  at::Tensor Whole(int64_t i) const;
  // A part of image i, chosen by its size. Of an image that the cache has no
  // room for, no more is decoded than the part needs.
  using Chooser = std::function<Window(const ImageInfo& info)>;
  at::Tensor Cut(int64_t i, const Chooser& choose) const;

 private:
  at::Tensor Decode(int64_t i, const FileContent& content) const;

  const std::vector<std::string> files_;
  const DecodeOptions options_;
  const std::shared_ptr<ImageCache> cache_;
  const int64_t first_slot_;
};

}  // namespace epochd::engine
