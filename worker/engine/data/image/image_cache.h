// SPDX-License-Identifier: Apache-2.0
//
// ImageCache: decoded images kept for the epochs after the first, within a
// bound. It fills once and evicts nothing: an epoch looks at each image about
// once, and evicting the least recent would then throw out each image just
// before it comes again. Thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <mutex>
#include <vector>

namespace epochd::engine {

class ImageCache {
 public:
  // `slots`: images that may be put. Keeps at most `max_bytes` of pixels.
  ImageCache(int64_t slots, int64_t max_bytes)
      : max_bytes_(max_bytes), images_(slots) {}

  // Undefined: it is not there. Its pixels are shared: not to be written to.
  at::Tensor Find(int64_t slot) const;
  // Whether so many more bytes fit now.
  bool HasRoom(int64_t bytes) const;
  // Keeps it if it fits and the slot is free.
  void Put(int64_t slot, const at::Tensor& image);

  struct Counts {
    int64_t hits = 0;
    int64_t misses = 0;
    int64_t bytes = 0;
  };
  Counts counts() const;

 private:
  const int64_t max_bytes_;
  mutable std::mutex mutex_;  // guards all below
  mutable Counts counts_;
  std::vector<at::Tensor> images_;
};

}  // namespace epochd::engine
