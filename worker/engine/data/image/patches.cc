// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/patches.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "worker/engine/core/error.h"
#include "worker/engine/data/random.h"

namespace epochd::engine {
namespace {

constexpr int64_t kMostSamples = int64_t{1} << 30;

}  // namespace

PatchPlan::PatchPlan(const PatchOptions& options, int64_t images,
                     const SizeOf& size_of)
    : options_(options), images_(images) {
  if (options_.repeat > kMostSamples / std::max<int64_t>(images, 1)) {
    throw Error(ErrorKind::kBadSpec,
                "repeat: " + std::to_string(options_.repeat) + " for " +
                    std::to_string(images) + " images; at most " +
                    std::to_string(kMostSamples) + " samples are accepted");
  }
  if (options_.kind != PatchKind::kGrid) return;
  first_.push_back(0);
  for (int64_t i = 0; i < images; ++i) {
    first_.push_back(first_.back());
    try {
      const ImageInfo info = size_of(i);
      first_.back() +=
          (info.height / options_.size) * (info.width / options_.size);
    } catch (const Error& error) {
      unreadable_.push_back(error);
    }
  }
  if (first_.back() == 0) {
    if (!unreadable_.empty()) throw unreadable_.front();
    throw Error(ErrorKind::kBadSpec,
                "patch_size: " + std::to_string(options_.size) +
                    ", larger than each of the " + std::to_string(images) +
                    " images");
  }
}

int64_t PatchPlan::Size() const {
  return first_.empty() ? images_ * options_.repeat : first_.back();
}

int64_t PatchPlan::ImageOf(int64_t index) const {
  if (first_.empty()) return index % images_;
  return std::upper_bound(first_.begin(), first_.end(), index) -
         first_.begin() - 1;
}

Window PatchPlan::Choose(int64_t index, const SampleSeed& seed, int64_t height,
                         int64_t width, int64_t scale,
                         const std::string& path) const {
  if (options_.kind == PatchKind::kWhole) return {0, 0, height, width};
  const int64_t side = options_.size / scale;
  if (side > height || side > width) {
    throw Error(ErrorKind::kBadSpec,
                "image file \"" + path + "\": has " +
                    std::to_string(width * scale) + "x" +
                    std::to_string(height * scale) +
                    " pixels; each side must be at least patch_size, " +
                    std::to_string(options_.size));
  }
  Window window{0, 0, side, side};
  if (options_.kind == PatchKind::kGrid) {
    const int64_t tile = index - first_[ImageOf(index)];
    const int64_t across = width / side;
    window.top = tile / across * side;
    window.left = tile % across * side;
  } else if (options_.kind == PatchKind::kCenter) {
    window.top = (height - side) / 2;
    window.left = (width - side) / 2;
  } else {
    Random random({static_cast<uint64_t>(Stream::kPatch), seed.seed,
                   static_cast<uint64_t>(seed.epoch),
                   static_cast<uint64_t>(index)});
    window.top = static_cast<int64_t>(random.Below(height - side + 1));
    window.left = static_cast<int64_t>(random.Below(width - side + 1));
  }
  return window;
}

at::Tensor PatchPlan::ImageColumn() const {
  at::Tensor column = at::empty({Size()}, at::kLong);
  auto* values = column.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < Size(); ++i) values[i] = ImageOf(i);
  return column;
}

at::Tensor ToUnitFloat(const at::Tensor& image) {
  return image.to(at::kFloat, false, false, at::MemoryFormat::Contiguous)
      .div_(255);
}

}  // namespace epochd::engine
