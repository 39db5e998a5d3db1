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

// Whether the target is as IsDense(), but larger by a whole factor.
bool IsLarger(const at::Tensor& target, const at::Tensor& input) {
  if (!at::isFloatingType(target.scalar_type()) || input.dim() < 3 ||
      target.dim() != input.dim() || input.numel() == 0) {
    return false;
  }
  const int64_t factor = target.size(2) / input.size(2);
  for (int64_t dim = 2; dim < input.dim(); ++dim) {
    if (target.size(dim) != factor * input.size(dim)) return false;
  }
  return factor > 1;
}

// Class probabilities of the targets.
at::Tensor Probabilities(const at::Tensor& target, const MixedFields& fields) {
  if (at::isFloatingType(target.scalar_type())) {
    // A value of each sample is mixed like many.
    if (target.dim() == 1 || target.dim() == 2) return target;
  } else if (target.dim() == 2) {
    const at::Tensor labels = target.to(at::kFloat);
    // Classes of many places, too, are of this shape.
    if (labels.eq(0).logical_or(labels.eq(1)).all().item<bool>()) return labels;
  } else if (target.dim() == 1) {
    if (fields.num_classes < 1) {
      Refuse("field \"" + fields.target +
             "\" holds class indices; num_classes is needed to mix them");
    }
    const int64_t least = target.min().item<int64_t>();
    const int64_t most = target.max().item<int64_t>();
    // Nor can one that a loss ignores be mixed.
    if (least < 0 || most >= fields.num_classes) {
      Refuse("field \"" + fields.target + "\" holds class " +
             std::to_string(least < 0 ? least : most) + "; 0 to " +
             std::to_string(fields.num_classes - 1) +
             ", by num_classes, are accepted");
    }
    return at::one_hot(target.to(at::kLong), fields.num_classes).to(at::kFloat);
  }
  Refuse("field \"" + fields.target + "\" is of shape " +
         c10::str(target.sizes()) + " and type " +
         c10::toString(target.scalar_type()) +
         "; class indices or values [B], probabilities or labels of 0 and 1 "
         "[B, C], or "
         "floating values of the input's height and width are accepted");
}

// Sum over neighbours k of weights[k] * (the value k places before).
at::Tensor Mixed(const at::Tensor& own, const std::vector<double>& weights) {
  at::Tensor mixed = own.mul(weights[0]);
  for (size_t k = 1; k < weights.size(); ++k) {
    mixed.add_(own.roll(static_cast<int64_t>(k), 0).mul_(weights[k]));
  }
  return mixed;
}

void MixLabels(Batch& batch, const MixedFields& fields,
               const std::vector<double>& weights) {
  batch.Set(fields.target,
            Mixed(Probabilities(batch.At(fields.target), fields), weights));
}

at::Tensor Blend(const at::Tensor& value, double lambda) {
  return value.roll(1, 0).mul_(1.0 - lambda).add_(value.mul(lambda));
}

// True where all samples are that have a share.
at::Tensor AllCount(const at::Tensor& mask,
                    const std::vector<double>& weights) {
  at::Tensor all = at::ones_like(mask);
  for (size_t k = 0; k < weights.size(); ++k) {
    if (weights[k] > 0) {
      all.logical_and_(mask.roll(static_cast<int64_t>(k), 0));
    }
  }
  return all;
}

// Values mixed by share; of masks, all must count.
at::Tensor Blended(const std::string& name, const at::Tensor& value,
                   const std::vector<double>& weights) {
  if (value.scalar_type() == at::kBool) return AllCount(value, weights);
  if (at::isFloatingType(value.scalar_type())) return Mixed(value, weights);
  Refuse("field \"" + name + "\" is of type " +
         c10::toString(value.scalar_type()) +
         "; bool or floating values can be mixed");
}

// Whether a field has the input's height and width, or its length.
bool IsLaidOut(const at::Tensor& value, const at::Tensor& input) {
  const int64_t num_dims = input.dim() - 2;
  return num_dims > 0 && value.dim() > num_dims && value.dim() <= input.dim() &&
         value.sizes().slice(value.dim() - num_dims) == input.sizes().slice(2);
}

// Changes further fields: by `move` those that are laid out as the input is,
// others by the samples' shares.
template <class Move>
void MixFurther(Batch& batch, const MixedFields& fields,
                const at::Tensor& input, const std::vector<double>& weights,
                const Move& move) {
  const std::vector<std::string> names =
      fields.also.value_or(std::vector<std::string>{"mask"});
  for (const std::string& name : names) {
    if (!fields.also && batch.Find(name) == nullptr) continue;
    const at::Tensor value = batch.At(name);
    if (value.dim() == 0 || value.size(0) != input.size(0)) {
      Refuse("field \"" + name + "\" is of shape " + c10::str(value.sizes()) +
             "; [B, ...] of as many samples as the input has is accepted");
    }
    if (IsLaidOut(value, input)) {
      batch.Set(name, move(name, value));
    } else {
      batch.Set(name, Blended(name, value, weights));
    }
  }
}

// The box of the last one or two dimensions.
at::Tensor Inside(const at::Tensor& value, const CutMix::Box& box,
                  bool is_image) {
  const at::Tensor columns = value.slice(value.dim() - 1, box.left, box.right);
  return is_image ? columns.slice(value.dim() - 2, box.top, box.bottom)
                  : columns;
}

at::Tensor Pasted(const at::Tensor& value, const CutMix::Box& box,
                  bool is_image) {
  at::Tensor result = value.clone();
  Inside(result, box, is_image).copy_(Inside(value.roll(1, 0), box, is_image));
  return result;
}

at::Tensor Joined(const at::Tensor& value, int64_t y, int64_t x,
                  bool is_image) {
  at::Tensor result = value.clone();
  const int64_t height = is_image ? value.size(-2) : 1;
  const int64_t width = value.size(-1);
  const CutMix::Box boxes[] = {
      {0, y, x, width}, {y, height, 0, x}, {y, height, x, width}};
  const size_t count = is_image ? 3 : 1;
  for (size_t k = 0; k < count; ++k) {
    // A signal has but one row.
    const CutMix::Box& box = boxes[k];
    Inside(result, box, is_image)
        .copy_(
            Inside(value.roll(static_cast<int64_t>(k) + 1, 0), box, is_image));
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
  const std::vector<double> shares = {lambda, 1.0 - lambda};
  if (IsDense(target, input) || IsLarger(target, input)) {
    batch.Set(fields_.target, Blend(target, lambda));
  } else {
    MixLabels(batch, fields_, shares);
  }
  MixFurther(batch, fields_, input, shares,
             [&](const std::string& name, const at::Tensor& value) {
               return Blended(name, value, shares);
             });
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
  const bool is_image = input.dim() == 4;
  const double share =
      static_cast<double>((box.right - box.left) * (box.bottom - box.top)) /
      static_cast<double>(HeightOf(input) * input.size(-1));
  const std::vector<double> shares = {1.0 - share, share};
  if (IsDense(target, input)) {
    batch.Set(fields_.target, Pasted(target, box, is_image));
  } else {
    MixLabels(batch, fields_, shares);
  }
  MixFurther(batch, fields_, input, shares,
             [&](const std::string&, const at::Tensor& value) {
               return Pasted(value, box, is_image);
             });
  batch.Set(fields_.input, Pasted(input, box, is_image));
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
  const bool is_image = input.dim() == 4;
  const double down =
      static_cast<double>(y) / static_cast<double>(HeightOf(input));
  const double across =
      static_cast<double>(x) / static_cast<double>(input.size(-1));
  std::vector<double> shares = {down * across, down * (1 - across)};
  if (is_image) {
    shares.push_back((1 - down) * across);
    shares.push_back((1 - down) * (1 - across));
  }
  if (IsDense(target, input)) {
    batch.Set(fields_.target, Joined(target, y, x, is_image));
  } else {
    MixLabels(batch, fields_, shares);
  }
  MixFurther(batch, fields_, input, shares,
             [&](const std::string&, const at::Tensor& value) {
               return Joined(value, y, x, is_image);
             });
  batch.Set(fields_.input, Joined(input, y, x, is_image));
}

}  // namespace epochd::engine
