// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/image/geometry.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "worker/engine/core/error.h"
#include "worker/engine/data/image/fields.h"
#include "worker/engine/data/image/resample.h"

namespace epochd::engine {
namespace {

double Radians(double degrees) { return degrees * std::numbers::pi / 180; }

// Where a pixel of the result comes from, relative to the center:
// (m0 x + m1 y + m2, m3 x + m4 y + m5).
struct InverseMap {
  float m[6];
};

InverseMap Inverse(const AffineMap& map) {
  const double angle = Radians(map.angle);
  const double shear_x = Radians(map.shear_x);
  const double shear_y = Radians(map.shear_y);
  // Rotation times shears [[a, b], [c, d]], of determinant 1.
  const double a = std::cos(angle - shear_y) / std::cos(shear_y);
  const double b = -(a * std::tan(shear_x) + std::sin(angle));
  const double c = std::sin(angle - shear_y) / std::cos(shear_y);
  const double d = std::cos(angle) - c * std::tan(shear_x);
  const double m0 = d / map.scale;
  const double m1 = -b / map.scale;
  const double m3 = -c / map.scale;
  const double m4 = a / map.scale;
  const double m2 = -m0 * map.translate_x - m1 * map.translate_y;
  const double m5 = -m3 * map.translate_x - m4 * map.translate_y;
  return {{static_cast<float>(m0), static_cast<float>(m1),
           static_cast<float>(m2), static_cast<float>(m3),
           static_cast<float>(m4), static_cast<float>(m5)}};
}

// [1, H, W, 2] in [-1, 1], for grid_sampler.
at::Tensor GridOf(const InverseMap& map, int64_t height, int64_t width) {
  at::Tensor grid = at::empty({1, height, width, 2}, at::kFloat);
  auto* out = grid.mutable_data_ptr<float>();
  const float half_width = 0.5f * static_cast<float>(width);
  const float half_height = 0.5f * static_cast<float>(height);
  // Each term is scaled before the sum, so that it rounds as torchvision's.
  const float m[6] = {map.m[0] / half_width,  map.m[1] / half_width,
                      map.m[2] / half_width,  map.m[3] / half_height,
                      map.m[4] / half_height, map.m[5] / half_height};
  for (int64_t i = 0; i < height; ++i) {
    const float y =
        static_cast<float>(i) + (1.0f - static_cast<float>(height)) * 0.5f;
    for (int64_t j = 0; j < width; ++j) {
      const float x =
          static_cast<float>(j) + (1.0f - static_cast<float>(width)) * 0.5f;
      *out++ = x * m[0] + y * m[1] + m[2];
      *out++ = x * m[3] + y * m[4] + m[5];
    }
  }
  return grid;
}

// Between two classes there is none.
Interpolation Allowed(const at::Tensor& image, Interpolation interpolation) {
  return ImageFields::IsLabels(image) ? Interpolation::kNearest : interpolation;
}

at::Tensor Sample(const at::Tensor& image, const InverseMap& map,
                  Interpolation interpolation,
                  const std::vector<double>& fill) {
  if (interpolation == Interpolation::kBicubic) {
    throw Error(ErrorKind::kBadSpec,
                "interpolation: is bicubic; nearest or bilinear is accepted "
                "for rotations and affine maps");
  }
  const int64_t channels = image.size(0);
  if (fill.empty() ||
      (fill.size() != 1 && static_cast<int64_t>(fill.size()) != channels)) {
    throw Error(ErrorKind::kBadSpec,
                "fill: has " + std::to_string(fill.size()) +
                    " values for an image of " + std::to_string(channels) +
                    " channels; 1, or one per channel, is needed");
  }
  const bool is_float = image.is_floating_point();
  const at::Tensor pixels = is_float ? image : image.to(at::kFloat);
  // A further channel of ones tells how much of a pixel is from inside.
  const at::Tensor with_mask =
      at::cat({pixels, at::ones_like(pixels.slice(0, 0, 1))}).unsqueeze(0);
  const bool is_nearest = interpolation == Interpolation::kNearest;
  const at::Tensor moved =
      at::grid_sampler(
          with_mask,
          GridOf(map, image.size(1), image.size(2)).to(pixels.scalar_type()),
          is_nearest ? 1 : 0, 0, false)
          .squeeze(0);
  const at::Tensor inside = moved.slice(0, channels);
  const at::Tensor outside =
      at::tensor(fill, at::kDouble).to(pixels.scalar_type()).view({-1, 1, 1});
  at::Tensor result = moved.slice(0, 0, channels);
  result = is_nearest ? at::where(inside < 0.5, outside, result)
                      : (result - outside).mul_(inside).add_(outside);
  return is_float ? result.contiguous()
                  : result.round_().to(image.scalar_type());
}

}  // namespace

Interpolation ParseInterpolation(std::string_view name) {
  if (name == "nearest") return Interpolation::kNearest;
  if (name == "bilinear") return Interpolation::kBilinear;
  if (name == "bicubic") return Interpolation::kBicubic;
  throw Error(ErrorKind::kBadSpec,
              "interpolation: is \"" + std::string(name) +
                  "\"; nearest, bilinear or bicubic is accepted");
}

at::Tensor AffineImage(const at::Tensor& image, const AffineMap& map,
                       Interpolation interpolation,
                       const std::vector<double>& fill) {
  return Sample(image, Inverse(map), Allowed(image, interpolation), fill);
}

at::Tensor RotateImage(const at::Tensor& image, double angle,
                       Interpolation interpolation,
                       const std::vector<double>& fill) {
  angle = std::fmod(angle, 360.0);
  if (angle < 0) angle += 360.0;
  // Without sampling where every pixel falls on one.
  if (angle == 0) return image.clone();
  if (angle == 180) return at::rot90(image, 2, {1, 2}).contiguous();
  if (image.size(1) == image.size(2) && (angle == 90 || angle == 270)) {
    return at::rot90(image, angle == 90 ? 1 : 3, {1, 2}).contiguous();
  }
  AffineMap map;
  map.angle = -angle;
  return AffineImage(image, map, interpolation, fill);
}

at::Tensor ResizeImage(const at::Tensor& image, int64_t height, int64_t width,
                       Interpolation interpolation) {
  if (image.size(1) == height && image.size(2) == width) return image.clone();
  const std::array<int64_t, 2> size = {height, width};
  if (Allowed(image, interpolation) == Interpolation::kNearest) {
    const at::Tensor floats = image.to(at::kFloat).unsqueeze(0);
    return at::upsample_nearest2d(floats, size)
        .squeeze(0)
        .to(image.scalar_type());
  }
  const bool is_cubic = interpolation == Interpolation::kBicubic;
  if (image.scalar_type() == at::kByte) {
    return Resize(
        image, height, width,
        is_cubic ? Resampling::kPillowBicubic : Resampling::kPillowBilinear);
  }
  const at::Tensor batch = image.unsqueeze(0);
  return (is_cubic ? at::_upsample_bicubic2d_aa(batch, size, false)
                   : at::_upsample_bilinear2d_aa(batch, size, false))
      .squeeze(0);
}

}  // namespace epochd::engine
