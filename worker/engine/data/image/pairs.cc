// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/pairs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "worker/engine/core/error.h"
#include "worker/engine/data/image/image_cache.h"
#include "worker/engine/data/image/image_source.h"

namespace epochd::engine {
namespace {

struct Pair {
  at::Tensor low;
  at::Tensor high;
};

// Chooses the part to cut, in low-resolution pixels, by the size there.
using LowChooser = std::function<Window(int64_t height, int64_t width)>;

Window Times(const Window& window, int64_t scale) {
  return {window.top * scale, window.left * scale, window.height * scale,
          window.width * scale};
}

at::Tensor CutOut(const at::Tensor& image, const Window& window) {
  return image.slice(1, window.top, window.top + window.height)
      .slice(2, window.left, window.left + window.width);
}

std::string Sides(int64_t height, int64_t width) {
  return std::to_string(width) + "x" + std::to_string(height);
}

// Pairs of uint8 images. Immutable but for caches; any thread.
class PairSource {
 public:
  virtual ~PairSource() = default;
  virtual int64_t size() const = 0;
  virtual const std::string& path(int64_t i) const = 0;
  // Of the high-resolution image.
  virtual ImageInfo Info(int64_t i) const = 0;
  virtual Pair Cut(int64_t i, const LowChooser& choose) const = 0;
};

class DegradedSource : public PairSource {
 public:
  DegradedSource(std::vector<std::string> files, Resampling resampling,
                 const PairOptions& options)
      : num_files_(static_cast<int64_t>(files.size())),
        resampling_(resampling),
        scale_(options.scale),
        cache_(
            std::make_shared<ImageCache>(2 * num_files_, options.cache_bytes)),
        high_(std::move(files), options.decode, cache_, 0) {}

  int64_t size() const override { return num_files_; }
  const std::string& path(int64_t i) const override { return high_.path(i); }
  ImageInfo Info(int64_t i) const override { return high_.Info(i); }

  Pair Cut(int64_t i, const LowChooser& choose) const override {
    at::Tensor low = cache_->Find(num_files_ + i);
    if (low.defined()) {
      const Window window = choose(low.size(1), low.size(2));
      return {CutOut(low, window), high_.Cut(i, [&](const ImageInfo&) {
                return Times(window, scale_);
              })};
    }
    Window window;
    Window read;
    PartialResize resize;
    const at::Tensor part = high_.Cut(i, [&](const ImageInfo& info) {
      resize = ResizeOf(i, info);
      const int64_t pixels = info.height * info.width;
      window = choose(resize.height_out, resize.width_out);
      if (cache_->HasRoom(info.channels * pixels / (scale_ * scale_))) {
        read = {0, 0, resize.height_in, resize.width_in};
        return read;
      }
      resize.out = window;
      read = Around(resize.Needs(), Times(window, scale_));
      return read;
    });
    if (resize.out.height == resize.height_out &&
        resize.out.width == resize.width_out) {
      low = resize.Apply(part.contiguous());
      cache_->Put(num_files_ + i, low);
      return {CutOut(low, window), CutOut(part, Times(window, scale_))};
    }
    const auto in_part = [&read](Window whole) {
      whole.top -= read.top;
      whole.left -= read.left;
      return whole;
    };
    low = resize.Apply(CutOut(part, in_part(resize.Needs())).contiguous());
    return {low, CutOut(part, in_part(Times(window, scale_)))};
  }

 private:
  // Of the whole image.
  PartialResize ResizeOf(int64_t i, const ImageInfo& info) const {
    PartialResize resize;
    resize.height_out = info.height / scale_;
    resize.width_out = info.width / scale_;
    if (resize.height_out == 0 || resize.width_out == 0) {
      throw Error(ErrorKind::kBadSpec,
                  "image file \"" + path(i) + "\": has " +
                      Sides(info.height, info.width) +
                      " pixels; each side must be at least the scale, " +
                      std::to_string(scale_));
    }
    resize.height_in = resize.height_out * scale_;
    resize.width_in = resize.width_out * scale_;
    resize.out = {0, 0, resize.height_out, resize.width_out};
    resize.resampling = resampling_;
    return resize;
  }
  static Window Around(const Window& a, const Window& b) {
    const int64_t top = std::min(a.top, b.top);
    const int64_t left = std::min(a.left, b.left);
    return {top, left, std::max(a.top + a.height, b.top + b.height) - top,
            std::max(a.left + a.width, b.left + b.width) - left};
  }

  const int64_t num_files_;
  const Resampling resampling_;
  const int64_t scale_;
  // High-resolution images, then low-resolution ones.
  const std::shared_ptr<ImageCache> cache_;
  const ImageSource high_;
};

class FolderPairSource : public PairSource {
 public:
  FolderPairSource(const std::vector<std::string>& low,
                   std::vector<std::string> high, const PairOptions& options)
      : cache_(
            std::make_shared<ImageCache>(2 * high.size(), options.cache_bytes)),
        low_(low, options.decode, cache_, static_cast<int64_t>(high.size())),
        high_(std::move(high), TargetDecode(options), cache_, 0),
        scale_(options.scale > 0 ? options.scale : ScaleOf(0)) {}

  int64_t size() const override { return high_.size(); }
  const std::string& path(int64_t i) const override { return high_.path(i); }
  ImageInfo Info(int64_t i) const override { return high_.Info(i); }
  int64_t scale() const { return scale_; }

  Pair Cut(int64_t i, const LowChooser& choose) const override {
    Window window;
    ImageInfo low_info;
    Pair pair;
    pair.low = low_.Cut(i, [&](const ImageInfo& info) {
      low_info = info;
      return window = choose(info.height, info.width);
    });
    pair.high = high_.Cut(i, [&](const ImageInfo& info) {
      if (info.height != low_info.height * scale_ ||
          info.width != low_info.width * scale_) {
        RefusePair(i, low_info, info, std::to_string(scale_));
      }
      return Times(window, scale_);
    });
    return pair;
  }

 private:
  static DecodeOptions TargetDecode(const PairOptions& options) {
    DecodeOptions decode = options.decode;
    if (options.target_mode) decode.mode = *options.target_mode;
    return decode;
  }
  int64_t ScaleOf(int64_t i) const {
    const ImageInfo low = low_.Info(i);
    const ImageInfo high = high_.Info(i);
    const int64_t scale = high.height / low.height;
    if (scale < 1 || high.height != low.height * scale ||
        high.width != low.width * scale) {
      RefusePair(i, low, high, "a whole number");
    }
    return scale;
  }
  [[noreturn]] void RefusePair(int64_t i, const ImageInfo& low,
                               const ImageInfo& high,
                               const std::string& scale) const {
    throw Error(ErrorKind::kBadSpec,
                "image file \"" + high_.path(i) + "\": has " +
                    Sides(high.height, high.width) + " pixels, \"" +
                    low_.path(i) + "\" " + Sides(low.height, low.width) +
                    "; it must be larger by " + scale + " along each side");
  }

  const std::shared_ptr<ImageCache> cache_;
  const ImageSource low_;
  const ImageSource high_;
  const int64_t scale_;
};

class PairDataset : public Dataset {
 public:
  PairDataset(std::unique_ptr<PairSource> source, const PatchOptions& patch,
              int64_t scale, bool has_labels)
      : source_(std::move(source)),
        scale_(scale),
        has_labels_(has_labels),
        plan_(patch, source_->size(),
              [this](int64_t i) { return source_->Info(i); }) {
    if (patch.size % scale != 0) {
      throw Error(ErrorKind::kBadSpec,
                  "patch_size: " + std::to_string(patch.size) +
                      "; a multiple of the scale, " + std::to_string(scale) +
                      ", is accepted");
    }
  }

  int64_t Size() const override { return plan_.Size(); }
  std::vector<Error> Unreadable() const override { return plan_.unreadable(); }
  std::string SampleName(int64_t index) const override {
    return source_->path(plan_.ImageOf(index));
  }

  Batch Get(int64_t index, const SampleSeed& seed) const override {
    const int64_t number = plan_.ImageOf(index);
    const Pair pair = source_->Cut(number, [&](int64_t height, int64_t width) {
      return plan_.Choose(index, seed, height, width, scale_,
                          source_->path(number));
    });
    return Batch{{"input", ToUnitFloat(pair.low)},
                 {"target", has_labels_ ? Labels(pair.high, number)
                                        : ToUnitFloat(pair.high)}};
  }

  at::Tensor Column(std::string_view field) const override {
    return field == "image" ? plan_.ImageColumn() : at::Tensor();
  }

 private:
  at::Tensor Labels(const at::Tensor& image, int64_t number) const {
    if (image.size(0) != 1) {
      throw Error(ErrorKind::kBadSpec,
                  "image file \"" + source_->path(number) + "\": has " +
                      std::to_string(image.size(0)) +
                      " channels; 1, of classes, is needed: a grey image");
    }
    return image.squeeze(0).to(at::kLong);
  }

  const std::unique_ptr<PairSource> source_;
  const int64_t scale_;
  const bool has_labels_;
  const PatchPlan plan_;
};

}  // namespace

std::shared_ptr<Dataset> LoadDegradedImages(const ImageFileOptions& files,
                                            Resampling resampling,
                                            const PairOptions& options) {
  return std::make_shared<PairDataset>(
      std::make_unique<DegradedSource>(ListImages(files), resampling, options),
      options.patch, options.scale, /*has_labels=*/false);
}

std::shared_ptr<Dataset> LoadPairedImages(const ImageFileOptions& low,
                                          const std::string& low_suffix,
                                          const ImageFileOptions& high,
                                          const PairOptions& options) {
  std::map<std::string, std::string> by_stem;
  for (const std::string& path : ListImages(low)) {
    const auto [twin, is_new] = by_stem.emplace(StemOf(path), path);
    if (!is_new) {
      throw Error(ErrorKind::kBadSpec,
                  "image file \"" + path + "\": has the name of \"" +
                      twin->second + "\"; names must differ");
    }
  }
  std::vector<std::string> high_files = ListImages(high);
  std::vector<std::string> low_files;
  for (const std::string& path : high_files) {
    const auto partner = by_stem.find(StemOf(path) + low_suffix);
    if (partner == by_stem.end()) {
      throw Error(ErrorKind::kBadSpec, "image file \"" + path + "\": no \"" +
                                           StemOf(path) + low_suffix +
                                           "\" is in \"" + low.folder + "\"");
    }
    low_files.push_back(partner->second);
  }
  if (by_stem.size() > high_files.size()) {
    std::vector<std::string> taken = low_files;
    std::sort(taken.begin(), taken.end());
    for (const auto& [stem, path] : by_stem) {
      if (std::binary_search(taken.begin(), taken.end(), path)) continue;
      throw Error(ErrorKind::kBadSpec, "image file \"" + path +
                                           "\": has no partner in \"" +
                                           high.folder + "\"");
    }
  }
  auto source = std::make_unique<FolderPairSource>(
      low_files, std::move(high_files), options);
  const int64_t scale = source->scale();
  return std::make_shared<PairDataset>(std::move(source), options.patch, scale,
                                       options.has_labels);
}

}  // namespace epochd::engine
