// SPDX-License-Identifier: Apache-2.0
//
// PatchPlan: which part of which image a sample of an image data set is.
//
//   whole    the image
//   random   a square at a place drawn from (seed, epoch, index); each image
//            `repeat` times an epoch
//   center   the square in the middle, rounded up and to the left
//   grid     one sample for each square of a grid from the top left corner;
//            what is left over at right and bottom is not used
//
// Immutable; any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/engine/core/dataset.h"
#include "worker/engine/core/error.h"
#include "worker/engine/data/image/image.h"

namespace epochd::engine {

enum class PatchKind { kWhole, kRandom, kCenter, kGrid };

struct PatchOptions {
  int64_t size = 0;  // side in pixels; 0: whole images
  PatchKind kind = PatchKind::kWhole;
  int64_t repeat = 1;
};

class PatchPlan {
 public:
  // Height and width of image i; asked only for grids.
  using SizeOf = std::function<ImageInfo(int64_t image)>;

  // An image whose size cannot be told has no sample. Throws Error(kBadSpec)
  // when no grid fits any image.
  PatchPlan(const PatchOptions& options, int64_t images, const SizeOf& size_of);

  int64_t Size() const;
  int64_t ImageOf(int64_t index) const;
  // The part for sample `index` of an image (`path`) of this size. With
  // scale > 1 sides, result and grid are those of an image that is `scale`
  // times smaller than the one that `size` speaks of. Throws Error(kBadSpec)
  // when the image is too small.
  Window Choose(int64_t index, const SampleSeed& seed, int64_t height,
                int64_t width, int64_t scale, const std::string& path) const;
  // ImageOf() of all, int64 [Size()].
  at::Tensor ImageColumn() const;
  // What `size_of` threw, of images that have no sample therefore.
  const std::vector<Error>& unreadable() const { return unreadable_; }

 private:
  const PatchOptions options_;
  const int64_t images_;
  // Grids: where the samples of each image begin, and all end.
  std::vector<int64_t> first_;
  std::vector<Error> unreadable_;
};

// uint8 [C, H, W] -> float in [0, 1], contiguous.
at::Tensor ToUnitFloat(const at::Tensor& image);

}  // namespace epochd::engine
