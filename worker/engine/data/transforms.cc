// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/transforms.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/unit_range.h"

namespace epochd::engine {
namespace {

// Pads by `padding` and cuts [C, height, width] at (top, left).
at::Tensor PadAndCut(const at::Tensor& image, int64_t padding, double fill,
                     int64_t top, int64_t left, int64_t height, int64_t width) {
  at::Tensor padded =
      padding == 0 ? image
                   : at::constant_pad_nd(
                         image, {padding, padding, padding, padding}, fill);
  return padded.slice(1, top, top + height)
      .slice(2, left, left + width)
      .contiguous();
}

}  // namespace

Normalize::Normalize(std::vector<double> mean, std::vector<double> std,
                     std::string field)
    : field_(std::move(field)) {
  if (mean.size() != std.size() || mean.empty()) {
    throw Error(ErrorKind::kBadSpec,
                "Normalize: mean has " + std::to_string(mean.size()) +
                    " values, std " + std::to_string(std.size()) +
                    "; they must have the same number, at least 1");
  }
  for (double value : std) {
    if (!(value > 0)) {
      throw Error(
          ErrorKind::kBadSpec,
          "Normalize: std is " + std::to_string(value) + "; must be above 0");
    }
  }
  is_of_unit_range_ = AreOfUnitRange(mean, std);
  mean_ = at::tensor(mean, at::kDouble).to(at::kFloat);
  std_ = at::tensor(std, at::kDouble).to(at::kFloat);
}

void Normalize::ApplyTo(Batch& batch, int64_t channel_dim) const {
  at::Tensor x = batch.At(field_);
  if (is_of_unit_range_) RefuseBytes("Normalize", field_, x);
  if (!x.is_floating_point()) x = x.to(at::kFloat);
  if (mean_.numel() == 1) {
    batch.Set(field_, (x - mean_).div_(std_));
    return;
  }
  if (x.dim() <= channel_dim || x.size(channel_dim) != mean_.numel()) {
    std::ostringstream message;
    message << "Normalize on field \"" << field_ << "\": has shape "
            << x.sizes() << ", mean has " << mean_.numel()
            << " values; one value or one per channel is needed";
    throw Error(ErrorKind::kBadSpec, message.str());
  }
  std::vector<int64_t> shape(x.dim() - channel_dim, 1);
  shape[0] = mean_.numel();
  batch.Set(field_, (x - mean_.view(shape)).div_(std_.view(shape)));
}

void Normalize::Apply(Batch& sample, Random& /*random*/) const {
  ApplyTo(sample, 0);
}

bool Normalize::ApplyToBatch(Batch& batch) const {
  ApplyTo(batch, 1);
  return true;
}

void Clamp::Apply(Batch& sample, Random& /*random*/) const {
  ApplyToBatch(sample);
}

bool Clamp::ApplyToBatch(Batch& batch) const {
  batch.Set(field_, batch.At(field_).clamp(min_, max_));
  return true;
}

Permute::Permute(std::vector<int64_t> dims, std::string field)
    : dims_(std::move(dims)), field_(std::move(field)) {
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (std::count(dims_.begin(), dims_.end(), static_cast<int64_t>(i)) == 1) {
      continue;
    }
    throw Error(ErrorKind::kBadSpec,
                "Permute: dims is " + c10::str(at::IntArrayRef(dims_)) +
                    "; each of 0 to " + std::to_string(dims_.size() - 1) +
                    " once is accepted");
  }
}

void Permute::ApplyTo(Batch& batch, int64_t first_dim) const {
  const at::Tensor& x = batch.At(field_);
  if (x.dim() - first_dim != static_cast<int64_t>(dims_.size())) {
    throw Error(ErrorKind::kBadSpec,
                "Permute on field \"" + field_ + "\": has " +
                    std::to_string(x.dim() - first_dim) + " dimensions, dims " +
                    std::to_string(dims_.size()) + "; as many are needed");
  }
  std::vector<int64_t> order;
  for (int64_t i = 0; i < first_dim; ++i) order.push_back(i);
  for (int64_t dim : dims_) order.push_back(first_dim + dim);
  batch.Set(field_, x.permute(order).contiguous());
}

void Permute::Apply(Batch& sample, Random& /*random*/) const {
  ApplyTo(sample, 0);
}

bool Permute::ApplyToBatch(Batch& batch) const {
  ApplyTo(batch, 1);
  return true;
}

void Unsqueeze::ApplyTo(Batch& batch, int64_t first_dim) const {
  const at::Tensor& x = batch.At(field_);
  if (dim_ > x.dim() - first_dim) {
    throw Error(ErrorKind::kBadSpec, "Unsqueeze on field \"" + field_ +
                                         "\": dim is " + std::to_string(dim_) +
                                         " of a sample of " +
                                         std::to_string(x.dim() - first_dim) +
                                         " dimensions; -1 to that is accepted");
  }
  batch.Set(field_, x.unsqueeze(dim_ < 0 ? -1 : first_dim + dim_));
}

void Unsqueeze::Apply(Batch& sample, Random& /*random*/) const {
  ApplyTo(sample, 0);
}

bool Unsqueeze::ApplyToBatch(Batch& batch) const {
  ApplyTo(batch, 1);
  return true;
}

void RandomFlip::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "RandomFlip");
  // Draws also when nothing is flipped, so that later draws do not move.
  if (random.Uniform() >= probability_) return;
  ImageFields::Replace(views, sample, [&](const at::Tensor& image, int64_t) {
    return image.flip({vertical_ ? 1 : 2});
  });
}

void RandomCrop::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "RandomCrop");
  const int64_t room_y = views.height + 2 * padding_ - height_;
  const int64_t room_x = views.width + 2 * padding_ - width_;
  if (room_y < 0 || room_x < 0) {
    std::ostringstream message;
    message << "RandomCrop on field \"" << *views.fields.front().name
            << "\": the image has shape " << views.fields.front().image.sizes()
            << " with padding " << padding_ << ", smaller than the crop "
            << height_ << "x" << width_;
    throw Error(ErrorKind::kBadSpec, message.str());
  }
  const int64_t top = static_cast<int64_t>(random.Below(room_y + 1));
  const int64_t left = static_cast<int64_t>(random.Below(room_x + 1));
  ImageFields::Replace(
      views, sample, [&](const at::Tensor& image, int64_t scale) {
        return PadAndCut(image, padding_ * scale, fields_.FillOf(image, fill_),
                         top * scale, left * scale, height_ * scale,
                         width_ * scale);
      });
}

void RandomShift::Apply(Batch& sample, Random& random) const {
  const ImageFields::Views views = fields_.Read(sample, "RandomShift");
  const int64_t top = static_cast<int64_t>(random.Below(2 * pixels_ + 1));
  const int64_t left = static_cast<int64_t>(random.Below(2 * pixels_ + 1));
  ImageFields::Replace(
      views, sample, [&](const at::Tensor& image, int64_t scale) {
        return PadAndCut(image, pixels_ * scale, fields_.FillOf(image, fill_),
                         top * scale, left * scale, image.size(1),
                         image.size(2));
      });
}

}  // namespace epochd::engine
