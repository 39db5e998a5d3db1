// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/batch_augments.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

[[noreturn]] void Refuse(const std::string& problem) {
  throw Error(ErrorKind::kBadSpec, "batch augment: " + problem);
}

// The logarithm of a draw from Gamma(shape, 1): small shapes give what is no
// number but 0.
double DrawLogGamma(double shape, Random& random) {
  if (shape < 1) {
    const double boost = std::log(1.0 - random.Uniform()) / shape;
    return DrawLogGamma(shape + 1, random) + boost;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = random.Normal();
    const double v = std::pow(1.0 + c * x, 3);
    if (v <= 0) continue;
    const double u = 1.0 - random.Uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return std::log(d) + std::log(v);
    }
  }
}

const at::Tensor& InputOf(const Batch& batch, const MixedFields& fields) {
  const at::Tensor& input = batch.At(fields.input);
  if (input.dim() != 3 && input.dim() != 4) {
    Refuse("field \"" + fields.input + "\" is of shape " +
           c10::str(input.sizes()) +
           "; images [B, C, H, W] and signals [B, C, T] are accepted");
  }
  return input;
}

int64_t HeightOf(const at::Tensor& input) {
  return input.dim() == 4 ? input.size(2) : 1;
}

// Whether the target is laid out as the input is, so that it is mixed alike.
bool IsDense(const at::Tensor& target, const at::Tensor& input) {
  return at::isFloatingType(target.scalar_type()) &&
         target.dim() == input.dim() &&
         target.sizes().slice(2) == input.sizes().slice(2);
}

// Class probabilities of the targets.
at::Tensor Probabilities(const at::Tensor& target, const MixedFields& fields) {
  if (at::isFloatingType(target.scalar_type())) {
    if (target.dim() == 2) return target;
  } else if (target.dim() == 1) {
    if (fields.num_classes < 1) {
      Refuse("field \"" + fields.target +
             "\" holds class indices; num_classes is needed to mix them");
    }
    // An index out of range must not pass for a mixture of nothing.
    return at::one_hot(target.to(at::kLong), fields.num_classes).to(at::kFloat);
  }
  Refuse("field \"" + fields.target + "\" is of shape " +
         c10::str(target.sizes()) + " and type " +
         c10::toString(target.scalar_type()) +
         "; class indices [B], probabilities [B, C], or floating values of the "
         "input's height and width are accepted");
}

// Sum over neighbours k of weights[k] * (the target k places before).
void MixLabels(Batch& batch, const MixedFields& fields,
               const std::vector<double>& weights) {
  const at::Tensor own = Probabilities(batch.At(fields.target), fields);
  at::Tensor mixed = own.mul(weights[0]);
  for (size_t k = 1; k < weights.size(); ++k) {
    mixed.add_(own.roll(static_cast<int64_t>(k), 0).mul_(weights[k]));
  }
  batch.Set(fields.target, mixed);
}

at::Tensor Blend(const at::Tensor& value, double lambda) {
  return value.roll(1, 0).mul_(1.0 - lambda).add_(value.mul(lambda));
}

// The box of the last one or two dimensions.
at::Tensor Inside(const at::Tensor& value, const CutMix::Box& box) {
  const at::Tensor columns = value.slice(value.dim() - 1, box.left, box.right);
  return value.dim() == 4 ? columns.slice(2, box.top, box.bottom) : columns;
}

at::Tensor Pasted(const at::Tensor& value, const CutMix::Box& box) {
  at::Tensor result = value.clone();
  Inside(result, box).copy_(Inside(value.roll(1, 0), box));
  return result;
}

at::Tensor Joined(const at::Tensor& value, int64_t y, int64_t x) {
  at::Tensor result = value.clone();
  const int64_t height = HeightOf(value);
  const int64_t width = value.size(-1);
  const CutMix::Box boxes[] = {
      {0, y, x, width}, {y, height, 0, x}, {y, height, x, width}};
  const size_t count = value.dim() == 4 ? 3 : 1;
  for (size_t k = 0; k < count; ++k) {
    // A signal has but one row.
    const CutMix::Box& box = boxes[k];
    Inside(result, box)
        .copy_(Inside(value.roll(static_cast<int64_t>(k) + 1, 0), box));
  }
  return result;
}

}  // namespace

double DrawBeta(double alpha, Random& random) {
  const double a = DrawLogGamma(alpha, random);
  const double b = DrawLogGamma(alpha, random);
  return 1.0 / (1.0 + std::exp(b - a));
}

void MixUp::Apply(Batch& batch, Random& random) const {
  Mix(batch, DrawBeta(alpha_, random));
}

void MixUp::Mix(Batch& batch, double lambda) const {
  const at::Tensor input = batch.At(fields_.input);
  const at::Tensor& target = batch.At(fields_.target);
  if (IsDense(target, input)) {
    batch.Set(fields_.target, Blend(target, lambda));
  } else {
    MixLabels(batch, fields_, {lambda, 1.0 - lambda});
  }
  batch.Set(fields_.input, Blend(input, lambda));
}

CutMix::Box CutMix::BoxOf(double lambda, int64_t center_y, int64_t center_x,
                          int64_t height, int64_t width) {
  // Of a signal the stretch alone has the share, of an image both sides.
  const double half =
      height == 1 ? 0.5 * (1.0 - lambda) : 0.5 * std::sqrt(1.0 - lambda);
  const auto half_width =
      static_cast<int64_t>(half * static_cast<double>(width));
  Box box{.bottom = height,
          .left = std::max<int64_t>(center_x - half_width, 0),
          .right = std::min(center_x + half_width, width)};
  if (height == 1) return box;
  const auto half_height =
      static_cast<int64_t>(half * static_cast<double>(height));
  box.top = std::max<int64_t>(center_y - half_height, 0);
  box.bottom = std::min(center_y + half_height, height);
  return box;
}

void CutMix::Apply(Batch& batch, Random& random) const {
  const at::Tensor& input = InputOf(batch, fields_);
  const double lambda = DrawBeta(alpha_, random);
  const int64_t height = HeightOf(input);
  const int64_t width = input.size(-1);
  const auto x =
      static_cast<int64_t>(random.Below(static_cast<uint64_t>(width)));
  const auto y =
      static_cast<int64_t>(random.Below(static_cast<uint64_t>(height)));
  Paste(batch, BoxOf(lambda, y, x, height, width));
}

void CutMix::Paste(Batch& batch, const Box& box) const {
  const at::Tensor input = InputOf(batch, fields_);
  const at::Tensor& target = batch.At(fields_.target);
  if (IsDense(target, input)) {
    batch.Set(fields_.target, Pasted(target, box));
  } else {
    const double share =
        static_cast<double>((box.right - box.left) * (box.bottom - box.top)) /
        static_cast<double>(HeightOf(input) * input.size(-1));
    MixLabels(batch, fields_, {1.0 - share, share});
  }
  batch.Set(fields_.input, Pasted(input, box));
}

void Mosaic::Apply(Batch& batch, Random& random) const {
  const at::Tensor& input = InputOf(batch, fields_);
  const auto draw = [&](int64_t size) {
    const double place = margin_ + (1.0 - 2.0 * margin_) * random.Uniform();
    return static_cast<int64_t>(std::lround(place * static_cast<double>(size)));
  };
  const int64_t x = draw(input.size(-1));
  Join(batch, input.dim() == 4 ? draw(input.size(2)) : 1, x);
}

void Mosaic::Join(Batch& batch, int64_t y, int64_t x) const {
  const at::Tensor input = InputOf(batch, fields_);
  const at::Tensor& target = batch.At(fields_.target);
  if (IsDense(target, input)) {
    batch.Set(fields_.target, Joined(target, y, x));
  } else {
    const double down =
        static_cast<double>(y) / static_cast<double>(HeightOf(input));
    const double across =
        static_cast<double>(x) / static_cast<double>(input.size(-1));
    std::vector<double> weights = {down * across, down * (1 - across)};
    if (input.dim() == 4) {
      weights.push_back((1 - down) * across);
      weights.push_back((1 - down) * (1 - across));
    }
    MixLabels(batch, fields_, weights);
  }
  batch.Set(fields_.input, Joined(input, y, x));
}

}  // namespace epochd::engine
