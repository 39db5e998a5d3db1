// SPDX-License-Identifier: Apache-2.0
//
// MixUp, CutMix and Mosaic: samples of a batch mixed with their neighbours,
// which are those one place before (roll by 1). Labels mix in proportion:
//
//   class indices [B] become class probabilities [B, num_classes]
//   probabilities or labels [B, C] stay of that form, in floating type
//   a floating target of the input's height and width (length) is mixed as the
//   input is
//
// So do further fields, such as masks and weights of samples: those of the
// input's height and width (length) as the input is, others as labels. Where
// two samples of a mask (bool) are blended, both must count.
//
// Inputs are [B, C, H, W] or, as signals, [B, C, T].
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/engine/data/preprocessor.h"

namespace epochd::engine {

struct MixedFields {
  std::string input = "input";
  std::string target = "target";
  // Needed where targets are class indices.
  int64_t num_classes = 0;
  // Further fields that mix alike; not given: `mask`, where there is one.
  std::optional<std::vector<std::string>> also = {};
};

// lambda x + (1 - lambda) x', lambda drawn from Beta(alpha, alpha) once per
// batch: Zhang et al. 2018, as torchvision.transforms.v2.MixUp.
class MixUp : public BatchAugment {
 public:
  MixUp(MixedFields fields, double alpha)
      : fields_(std::move(fields)), alpha_(alpha) {}
  void Apply(Batch& batch, Random& random) const override;
  void Mix(Batch& batch, double lambda) const;

 private:
  const MixedFields fields_;
  const double alpha_;
};

// A box of the neighbour, of the share 1 - lambda of the area before it is cut
// at the borders, about a place drawn uniformly: Yun et al. 2019, as
// torchvision.transforms.v2.CutMix. Of signals a stretch of time.
class CutMix : public BatchAugment {
 public:
  CutMix(MixedFields fields, double alpha)
      : fields_(std::move(fields)), alpha_(alpha) {}
  void Apply(Batch& batch, Random& random) const override;
  struct Box {
    int64_t top = 0;
    int64_t bottom = 0;  // not in it
    int64_t left = 0;
    int64_t right = 0;  // not in it
  };
  static Box BoxOf(double lambda, int64_t center_y, int64_t center_x,
                   int64_t height, int64_t width);
  // Labels mix by the area of the box.
  void Paste(Batch& batch, const Box& box) const;

 private:
  const MixedFields fields_;
  const double alpha_;
};

// Four samples in one: its own at top left, those one, two and three places
// before in the other quarters, each with what it has there. They meet at a
// place drawn from the middle, [margin, 1 - margin] of both sides; labels mix
// by area. Of signals two samples, one after the other.
class Mosaic : public BatchAugment {
 public:
  Mosaic(MixedFields fields, double margin)
      : fields_(std::move(fields)), margin_(margin) {}
  void Apply(Batch& batch, Random& random) const override;
  void Join(Batch& batch, int64_t y, int64_t x) const;

 private:
  const MixedFields fields_;
  const double margin_;
};

// Beta(alpha, alpha), from two Gamma draws (Marsaglia and Tsang 2000).
double DrawBeta(double alpha, Random& random);

}  // namespace epochd::engine
