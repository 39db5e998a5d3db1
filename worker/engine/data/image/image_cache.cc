// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/image_cache.h"

#include <ATen/ATen.h>

namespace epochd::engine {

at::Tensor ImageCache::Find(int64_t slot) const {
  std::lock_guard lock(mutex_);
  const at::Tensor& image = images_[slot];
  ++(image.defined() ? counts_.hits : counts_.misses);
  return image;
}

bool ImageCache::HasRoom(int64_t bytes) const {
  std::lock_guard lock(mutex_);
  return bytes <= max_bytes_ - counts_.bytes;
}

void ImageCache::Put(int64_t slot, const at::Tensor& image) {
  const auto bytes = static_cast<int64_t>(image.nbytes());
  std::lock_guard lock(mutex_);
  if (images_[slot].defined() || bytes > max_bytes_ - counts_.bytes) return;
  images_[slot] = image;
  counts_.bytes += bytes;
}

ImageCache::Counts ImageCache::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace epochd::engine
