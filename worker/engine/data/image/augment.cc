// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/augment.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "worker/engine/core/error.h"
#include "worker/engine/data/image/colour.h"
#include "worker/engine/data/image/image.h"

namespace epochd::engine {
namespace {

// In a logarithm, so that a ratio and its inverse are as likely.
double DrawRatio(const Range& ratio, Random& random) {
  return std::exp(
      Range{std::log(ratio.low), std::log(ratio.high)}.Draw(random));
}

int64_t Rounded(double value) {
  return static_cast<int64_t>(std::nearbyint(value));
}

at::Tensor Slice(const at::Tensor& image, const Window& window, int64_t scale) {
  return image
      .slice(1, window.top * scale, (window.top + window.height) * scale)
      .slice(2, window.left * scale, (window.left + window.width) * scale);
}

// A place for a window that is no larger than height x width.
void DrawPlace(Window& window, int64_t height, int64_t width, Random& random) {
  window.top = static_cast<int64_t>(random.Below(height - window.height + 1));
  window.left = static_cast<int64_t>(random.Below(width - window.width + 1));
}

// Box and Muller, both values used.
at::Tensor NormalNoise(at::IntArrayRef shape, Random& random) {
  at::Tensor noise = at::empty(shape, at::kFloat);
  auto* out = noise.mutable_data_ptr<float>();
  for (int64_t i = 0; i < noise.numel(); i += 2) {
    const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
    const double angle = 2 * std::numbers::pi * random.Uniform();
    out[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < noise.numel()) {
      out[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
  }
  return noise;
}

}  // namespace

void CenterCrop::Apply(Batch& sample, Random& /*random*/) const {
  const ImageFields::Views views = fields_.Read(sample, "CenterCrop");
  // As torchvision: what is missing is added on both sides, more at the end.
  const int64_t pad_y = std::max<int64_t>(0, height_ - views.height);
  const int64_t pad_x = std::max<int64_t>(0, width_ - views.width);
  const int64_t room_y = views.height + pad_y - height_;
  const int64_t room_x = views.width + pad_x - width_;
  const Window window{Rounded(room_y / 2.0), Rounded(room_x / 2.0), height_,
                      width_};
  ImageFields::Replace(views, sample,
                       [&](const at::Tensor& image, int64_t scale) {
                         at::Tensor padded = image;
                         if (pad_y > 0 || pad_x > 0) {
                           padded = at::constant_pad_nd(
                               image,
                               {pad_x / 2 * scale, (pad_x - pad_x / 2) * scale,
                                pad_y / 2 * scale, (pad_y - pad_y / 2) * scale},
                               fields_.FillOf(image, fill_));
                         }
                         return Slice(padded, window, scale).contiguous();
                       });
}

void RandomRotate90::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "RandomRotate90");
  const bool turns = random.Uniform() < probability_;
  const auto quarters = static_cast<int64_t>(random.Below(4));
  if (!turns || quarters == 0) return;
  ImageFields::Replace(views, sample, [&](const at::Tensor& image, int64_t) {
    return at::rot90(image, quarters, {1, 2}).contiguous();
  });
}

void RandomAffine::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "RandomAffine");
  AffineMap map;
  map.angle = options_.degrees.Draw(random);
  const double most_x = options_.translate_x * views.width;
  const double most_y = options_.translate_y * views.height;
  map.translate_x = std::nearbyint(Range{-most_x, most_x}.Draw(random));
  map.translate_y = std::nearbyint(Range{-most_y, most_y}.Draw(random));
  map.scale = options_.scale.Draw(random);
  map.shear_x = options_.shear_x.Draw(random);
  map.shear_y = options_.shear_y.Draw(random);
  ImageFields::Replace(
      views, sample, [&](const at::Tensor& image, int64_t scale) {
        AffineMap scaled = map;
        scaled.translate_x *= static_cast<double>(scale);
        scaled.translate_y *= static_cast<double>(scale);
        return AffineImage(image, scaled, options_.interpolation,
                           fields_.FillOf(image, options_.fill));
      });
}

void RandomRotation::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "RandomRotation");
  const double angle = degrees_.Draw(random);
  ImageFields::Replace(views, sample, [&](const at::Tensor& image, int64_t) {
    return RotateImage(image, angle, interpolation_,
                       fields_.FillOf(image, fill_));
  });
}

void ResizeTo::Apply(Batch& sample, Random& /*random*/) const {
  const ImageFields::Views views = fields_.Read(sample, "Resize");
  int64_t height = height_;
  int64_t width = width_;
  if (width == 0) {
    const int64_t side = height_;
    const bool is_tall = views.height > views.width;
    // Cut off, not rounded, as torchvision does.
    height = is_tall ? side * views.height / views.width : side;
    width = is_tall ? side : side * views.width / views.height;
  }
  ImageFields::Replace(views, sample,
                       [&](const at::Tensor& image, int64_t scale) {
                         return ResizeImage(image, height * scale,
                                            width * scale, interpolation_);
                       });
}

void RandomResizedCrop::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "RandomResizedCrop");
  const double area = static_cast<double>(views.height * views.width);
  Window window;
  for (int i = 0; i < 10; ++i) {
    const double part = area * options_.area.Draw(random);
    const double ratio = DrawRatio(options_.ratio, random);
    window.width = Rounded(std::sqrt(part * ratio));
    window.height = Rounded(std::sqrt(part / ratio));
    if (window.width > 0 && window.width <= views.width && window.height > 0 &&
        window.height <= views.height) {
      break;
    }
    window = {};
  }
  if (window.width > 0) {
    DrawPlace(window, views.height, views.width, random);
  } else {
    // The largest in the middle that has an accepted ratio.
    const double ratio =
        static_cast<double>(views.width) / static_cast<double>(views.height);
    window = {0, 0, views.height, views.width};
    if (ratio < options_.ratio.low) {
      window.height = std::clamp<int64_t>(
          Rounded(static_cast<double>(views.width) / options_.ratio.low), 1,
          views.height);
    } else if (ratio > options_.ratio.high) {
      window.width = std::clamp<int64_t>(
          Rounded(static_cast<double>(views.height) * options_.ratio.high), 1,
          views.width);
    }
    window.top = (views.height - window.height) / 2;
    window.left = (views.width - window.width) / 2;
  }
  ImageFields::Replace(
      views, sample, [&](const at::Tensor& image, int64_t scale) {
        return ResizeImage(Slice(image, window, scale).contiguous(),
                           options_.height * scale, options_.width * scale,
                           options_.interpolation);
      });
}

void ColorJitter::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "ColorJitter");
  std::vector<int> order(4);
  std::iota(order.begin(), order.end(), 0);
  random.Shuffle(order);
  using Adjust = at::Tensor (*)(const at::Tensor&, double);
  struct Step {
    Adjust adjust;
    std::optional<double> factor;
  };
  Step steps[4] = {{AdjustBrightness, {}},
                   {AdjustContrast, {}},
                   {AdjustSaturation, {}},
                   {AdjustHue, {}}};
  const std::optional<Range>* const ranges[4] = {
      &options_.brightness, &options_.contrast, &options_.saturation,
      &options_.hue};
  for (int i = 0; i < 4; ++i) {
    if (*ranges[i]) steps[i].factor = (*ranges[i])->Draw(random);
  }
  ImageFields::Replace(views, sample, [&](at::Tensor image, int64_t) {
    for (const int i : order) {
      if (steps[i].factor) image = steps[i].adjust(image, *steps[i].factor);
    }
    return image;
  });
}

void Grayscale::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "Grayscale");
  // Without chance nothing is drawn, so that it may come behind a model, too.
  if (probability_ < 1 && random.Uniform() >= probability_) return;
  ImageFields::Replace(views, sample, [&](const at::Tensor& image, int64_t) {
    return ToGrey(image, channels_ == 0 ? image.size(0) : channels_);
  });
}

void RandomErasing::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "RandomErasing");
  if (random.Uniform() >= options_.probability) return;
  const double area = static_cast<double>(views.height * views.width);
  Window window;
  for (int i = 0; i < 10; ++i) {
    const double part = area * options_.area.Draw(random);
    const double ratio = DrawRatio(options_.ratio, random);
    window.height = Rounded(std::sqrt(part * ratio));
    window.width = Rounded(std::sqrt(part / ratio));
    if (window.height < views.height && window.width < views.width) break;
    window = {};
  }
  if (window.height == 0 || window.width == 0) return;
  DrawPlace(window, views.height, views.width, random);
  ImageFields::Replace(
      views, sample, [&](const at::Tensor& image, int64_t scale) {
        const std::vector<double> value = fields_.FillOf(image, options_.value);
        const bool noise = options_.noise && !ImageFields::IsLabels(image);
        const auto count = static_cast<int64_t>(value.size());
        if (count != 1 && count != image.size(0) && !noise) {
          throw Error(ErrorKind::kBadSpec,
                      "RandomErasing: value has " + std::to_string(count) +
                          " numbers for an image of " +
                          std::to_string(image.size(0)) +
                          " channels; 1, or one per channel, is needed");
        }
        at::Tensor erased = image.clone();
        at::Tensor hole = Slice(erased, window, scale);
        hole.copy_(noise ? NormalNoise(hole.sizes(), random)
                         : at::tensor(value, at::kDouble).view({-1, 1, 1}));
        return erased;
      });
}

void Cutout::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "Cutout");
  std::vector<Window> holes;
  for (int64_t i = 0; i < holes_; ++i) {
    const auto y = static_cast<int64_t>(random.Below(views.height));
    const auto x = static_cast<int64_t>(random.Below(views.width));
    const int64_t top = std::max<int64_t>(0, y - size_ / 2);
    const int64_t left = std::max<int64_t>(0, x - size_ / 2);
    holes.push_back({top, left,
                     std::min(views.height, y - size_ / 2 + size_) - top,
                     std::min(views.width, x - size_ / 2 + size_) - left});
  }
  ImageFields::Replace(
      views, sample, [&](const at::Tensor& image, int64_t scale) {
        at::Tensor cut = image.clone();
        for (const Window& hole : holes)
          Slice(cut, hole, scale).fill_(fields_.FillOf(image, value_));
        return cut;
      });
}

void ToFloat::Apply(Batch& sample, Random& /*random*/) const {
  ApplyToBatch(sample);
}

bool ToFloat::ApplyToBatch(Batch& batch) const {
  for (const std::string& field : fields_) {
    const at::Tensor& image = batch.At(field);
    if (image.is_floating_point()) continue;
    if (image.scalar_type() != at::kByte) {
      throw Error(ErrorKind::kBadSpec,
                  "ToFloat on field \"" + field + "\": has type " +
                      c10::toString(image.scalar_type()) + "; uint8 is needed");
    }
    batch.Set(field, image.to(at::kFloat).div_(255));
  }
  return true;
}

}  // namespace epochd::engine
