// SPDX-License-Identifier: Apache-2.0
//
// Image transforms. Each changes one or several fields alike (fields.h), on
// images in float or uint8. Distributions are those of
// torchvision.transforms.v2; draws come from the sample's own stream, so
// samples are not torchvision's. ToFloat ends what works on bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "worker/engine/data/image/fields.h"
#include "worker/engine/data/image/geometry.h"
#include "worker/engine/data/transform.h"

namespace epochd::engine {

// Lower and upper end of a uniform draw.
struct Range {
  double low = 0;
  double high = 0;
  double Draw(Random& random) const {
    return low + (high - low) * random.Uniform();
  }
};

// The middle; pads with `fill` first where the image is smaller.
class CenterCrop : public Transform {
 public:
  CenterCrop(int64_t height, int64_t width, double fill, ImageFields fields)
      : height_(height), width_(width), fill_(fill), fields_(fields) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const int64_t height_;
  const int64_t width_;
  const double fill_;
  const ImageFields fields_;
};

// A quarter turn, drawn from 0 to 3; `probability` of turning at all.
class RandomRotate90 : public Transform {
 public:
  RandomRotate90(double probability, ImageFields fields)
      : probability_(probability), fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const double probability_;
  const ImageFields fields_;
};

struct RandomAffineOptions {
  Range degrees;
  // Most movement, as parts of width and height.
  double translate_x = 0;
  double translate_y = 0;
  Range scale{1, 1};
  Range shear_x;
  Range shear_y;
  Interpolation interpolation = Interpolation::kNearest;
  std::vector<double> fill{0};
};

class RandomAffine : public Transform {
 public:
  RandomAffine(RandomAffineOptions options, ImageFields fields)
      : options_(std::move(options)), fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const RandomAffineOptions options_;
  const ImageFields fields_;
};

class RandomRotation : public Transform {
 public:
  RandomRotation(Range degrees, Interpolation interpolation,
                 std::vector<double> fill, ImageFields fields)
      : degrees_(degrees),
        interpolation_(interpolation),
        fill_(std::move(fill)),
        fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const Range degrees_;
  const Interpolation interpolation_;
  const std::vector<double> fill_;
  const ImageFields fields_;
};

// To height x width, or, with width 0, the smaller side to `height`.
class ResizeTo : public Transform {
 public:
  ResizeTo(int64_t height, int64_t width, Interpolation interpolation,
           ImageFields fields)
      : height_(height),
        width_(width),
        interpolation_(interpolation),
        fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const int64_t height_;
  const int64_t width_;
  const Interpolation interpolation_;
  const ImageFields fields_;
};

struct RandomResizedCropOptions {
  int64_t height = 0;
  int64_t width = 0;
  Range area{0.08, 1};         // of the image
  Range ratio{0.75, 4.0 / 3};  // width / height, drawn in its logarithm
  Interpolation interpolation = Interpolation::kBilinear;
};

class RandomResizedCrop : public Transform {
 public:
  RandomResizedCrop(const RandomResizedCropOptions& options, ImageFields fields)
      : options_(options), fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const RandomResizedCropOptions options_;
  const ImageFields fields_;
};

struct ColorJitterOptions {
  std::optional<Range> brightness;
  std::optional<Range> contrast;
  std::optional<Range> saturation;
  std::optional<Range> hue;
};

// The four in an order drawn anew.
class ColorJitter : public Transform {
 public:
  ColorJitter(const ColorJitterOptions& options, ImageFields fields)
      : options_(options), fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const ColorJitterOptions options_;
  const ImageFields fields_;
};

// Luma in `channels` channels, 0: as many as there are.
class Grayscale : public Transform {
 public:
  Grayscale(double probability, int64_t channels, ImageFields fields)
      : probability_(probability),
        channels_(channels),
        fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const double probability_;
  const int64_t channels_;
  const ImageFields fields_;
};

struct RandomErasingOptions {
  double probability = 0.5;
  Range area{0.02, 0.33};
  Range ratio{0.3, 3.3};  // height / width, drawn in its logarithm
  std::vector<double> value{0};
  // Normal noise in place of `value`.
  bool noise = false;
};

class RandomErasing : public Transform {
 public:
  RandomErasing(RandomErasingOptions options, ImageFields fields)
      : options_(std::move(options)), fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const RandomErasingOptions options_;
  const ImageFields fields_;
};

// Squares of side `size` about drawn centers; what lies outside of the image
// is cut off (DeVries, Taylor 2017).
class Cutout : public Transform {
 public:
  Cutout(int64_t size, int64_t holes, double value, ImageFields fields)
      : size_(size), holes_(holes), value_(value), fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  const int64_t size_;
  const int64_t holes_;
  const double value_;
  const ImageFields fields_;
};

// uint8 -> float32 in [0, 1]; floats stay.
class ToFloat : public Transform {
 public:
  explicit ToFloat(std::vector<std::string> fields)
      : fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;
  bool ApplyToBatch(Batch& batch) const override;

 private:
  const std::vector<std::string> fields_;
};

}  // namespace epochd::engine
