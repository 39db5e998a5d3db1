// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/colour.h"

#include <ATen/ATen.h>

#include <sstream>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

double Brightest(const at::Tensor& image) {
  return image.is_floating_point() ? 1.0 : 255.0;
}

void CheckChannels(const at::Tensor& image, const char* what) {
  const bool is_known =
      image.is_floating_point() || image.scalar_type() == at::kByte;
  if (image.dim() == 3 && is_known &&
      (image.size(0) == 1 || image.size(0) == 3)) {
    return;
  }
  std::ostringstream message;
  message << what << ": the image has shape " << image.sizes() << ", type "
          << image.scalar_type()
          << "; 1 or 3 channels, float or uint8, are needed";
  throw Error(ErrorKind::kBadSpec, message.str());
}

// [1, H, W] in float; of bytes whole numbers.
at::Tensor Luma(const at::Tensor& image) {
  at::Tensor luma = image.size(0) == 1 ? image.select(0, 0).to(at::kFloat)
                                       : image.select(0, 0)
                                             .mul(0.2989)
                                             .add_(image.select(0, 1), 0.587)
                                             .add_(image.select(0, 2), 0.114);
  if (!image.is_floating_point() && image.size(0) == 3) luma.floor_();
  return luma.unsqueeze(0);
}

// factor * image + (1 - factor) * other, within the range.
at::Tensor Blend(const at::Tensor& image, const at::Tensor& other,
                 double factor) {
  return image.mul(factor)
      .add_(other, 1.0 - factor)
      .clamp_(0, Brightest(image))
      .to(image.scalar_type());
}

// Hue in [0, 1), saturation and value, each [H, W].
struct Hsv {
  at::Tensor hue;
  at::Tensor saturation;
  at::Tensor value;
};

Hsv ToHsv(const at::Tensor& image) {
  const at::Tensor red = image.select(0, 0);
  const at::Tensor green = image.select(0, 1);
  const at::Tensor least = image.amin(0);
  const at::Tensor most = image.amax(0);
  const at::Tensor range = most - least;
  const at::Tensor is_grey = range == 0;
  const at::Tensor one = at::ones_like(most);
  // How far each channel is below the greatest, in ranges.
  const at::Tensor below = (most - image) / at::where(is_grey, one, range);
  const at::Tensor r = below.select(0, 0);
  const at::Tensor g = below.select(0, 1);
  const at::Tensor b = below.select(0, 2);
  const at::Tensor sixths = at::where(
      most == red, b - g, at::where(most == green, r + 2.0 - b, g + 4.0 - r));
  return {(sixths * (1.0 / 6.0) + 1.0).fmod(1.0),
          range / at::where(is_grey, one, most), most};
}

at::Tensor ToRgb(const Hsv& hsv) {
  const at::Tensor sixths = hsv.hue * 6;
  const at::Tensor sector = sixths.floor();
  const at::Tensor within = sixths - sector;
  const at::Tensor& v = hsv.value;
  const at::Tensor product = hsv.saturation * within;
  const at::Tensor rest = 1.0 - hsv.saturation;
  const at::Tensor q = ((1.0 - product) * v).clamp_(0, 1);
  const at::Tensor t = ((product + rest) * v).clamp_(0, 1);
  const at::Tensor p = (rest * v).clamp_(0, 1);
  // Which of v, p, q, t each channel is, by sector.
  static constexpr int64_t kChoice[3][6] = {
      {0, 2, 1, 1, 3, 0}, {3, 0, 0, 2, 1, 1}, {1, 1, 3, 0, 0, 2}};
  const at::Tensor place = sector.to(at::kLong).remainder(6);
  const at::Tensor values = at::stack({v, p, q, t});
  std::vector<at::Tensor> channels;
  for (const auto& row : kChoice) {
    const at::Tensor choice =
        at::tensor(at::ArrayRef<int64_t>(row, 6), at::kLong);
    const at::Tensor index =
        choice.index_select(0, place.flatten()).view_as(place);
    channels.push_back(values.gather(0, index.unsqueeze(0)).squeeze(0));
  }
  return at::stack(channels);
}

}  // namespace

at::Tensor AdjustBrightness(const at::Tensor& image, double factor) {
  CheckChannels(image, "brightness");
  return image.mul(factor).clamp_(0, Brightest(image)).to(image.scalar_type());
}

at::Tensor AdjustContrast(const at::Tensor& image, double factor) {
  CheckChannels(image, "contrast");
  return Blend(image, Luma(image).mean(), factor);
}

at::Tensor AdjustSaturation(const at::Tensor& image, double factor) {
  CheckChannels(image, "saturation");
  if (image.size(0) == 1) return image.clone();
  return Blend(image, Luma(image), factor);
}

at::Tensor AdjustHue(const at::Tensor& image, double turn) {
  CheckChannels(image, "hue");
  if (image.size(0) == 1) return image.clone();
  const bool is_float = image.is_floating_point();
  Hsv hsv = ToHsv(is_float ? image : image.to(at::kFloat).div_(255));
  hsv.hue.add_(turn).remainder_(1.0);
  const at::Tensor turned = ToRgb(hsv);
  // Each byte stands for an equal part of [0, 1].
  return is_float ? turned : turned.mul(255 + 1.0 - 1e-3).to(at::kByte);
}

at::Tensor ToGrey(const at::Tensor& image, int64_t channels) {
  CheckChannels(image, "to grey");
  at::Tensor grey = image.size(0) == 1 ? image
                                       : image.select(0, 0)
                                             .mul(0.2989)
                                             .add_(image.select(0, 1), 0.587)
                                             .add_(image.select(0, 2), 0.114)
                                             .unsqueeze(0)
                                             .to(image.scalar_type());
  return grey.expand({channels, -1, -1}).contiguous();
}

}  // namespace epochd::engine
