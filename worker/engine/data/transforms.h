// SPDX-License-Identifier: Apache-2.0
//
// The built-in transforms. Image transforms want [C, H, W], and change one
// field, or several alike (image/fields.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/data/image/fields.h"
#include "worker/engine/data/transform.h"

namespace epochd::engine {

// (x - mean) / std, with one value for all or one per channel (the first
// dimension of a sample).
class Normalize : public Transform {
 public:
  // Throws Error(kBadSpec) when a std is 0 or the lists differ in length.
  Normalize(std::vector<double> mean, std::vector<double> std,
            std::string field);
  void Apply(Batch& sample, Random& random) const override;
  bool ApplyToBatch(Batch& batch) const override;

 private:
  void ApplyTo(Batch& batch, int64_t channel_dim) const;

  std::string field_;
  bool is_of_unit_range_ = false;
  at::Tensor mean_;  // [n]
  at::Tensor std_;   // [n]
};

// Values below `min` become it, those above `max` that; NaN stays.
class Clamp : public Transform {
 public:
  Clamp(double min, double max, std::string field)
      : min_(min), max_(max), field_(std::move(field)) {}
  void Apply(Batch& sample, Random& random) const override;
  bool ApplyToBatch(Batch& batch) const override;

 private:
  double min_;
  double max_;
  std::string field_;
};

// Puts the dimensions of a sample in another order.
class Permute : public Transform {
 public:
  // Throws Error(kBadSpec) unless `dims` has each of 0, 1, ... once.
  Permute(std::vector<int64_t> dims, std::string field);
  void Apply(Batch& sample, Random& random) const override;
  bool ApplyToBatch(Batch& batch) const override;

 private:
  void ApplyTo(Batch& batch, int64_t first_dim) const;

  std::vector<int64_t> dims_;
  std::string field_;
};

// Adds a dimension of 1 at place `dim` of a sample's; -1: the last.
class Unsqueeze : public Transform {
 public:
  Unsqueeze(int64_t dim, std::string field)
      : dim_(dim), field_(std::move(field)) {}
  void Apply(Batch& sample, Random& random) const override;
  bool ApplyToBatch(Batch& batch) const override;

 private:
  void ApplyTo(Batch& batch, int64_t first_dim) const;

  int64_t dim_;
  std::string field_;
};

// Mirrors with probability p, about the last dimension (horizontal) or the one
// before it (vertical).
class RandomFlip : public Transform {
 public:
  RandomFlip(bool vertical, double probability, ImageFields fields)
      : vertical_(vertical),
        probability_(probability),
        fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  bool vertical_;
  double probability_;
  ImageFields fields_;
};

// Pads each side by `padding` with `fill`, then cuts out height x width at a
// uniformly drawn place, in pixels of the smallest field.
class RandomCrop : public Transform {
 public:
  RandomCrop(int64_t height, int64_t width, int64_t padding, double fill,
             ImageFields fields)
      : height_(height),
        width_(width),
        padding_(padding),
        fill_(fill),
        fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  int64_t height_;
  int64_t width_;
  int64_t padding_;
  double fill_;
  ImageFields fields_;
};

// Moves by up to `pixels` each way along both axes, filling with `fill`.
class RandomShift : public Transform {
 public:
  RandomShift(int64_t pixels, double fill, ImageFields fields)
      : pixels_(pixels), fill_(fill), fields_(std::move(fields)) {}
  void Apply(Batch& sample, Random& random) const override;

 private:
  int64_t pixels_;
  double fill_;
  ImageFields fields_;
};

}  // namespace epochd::engine
