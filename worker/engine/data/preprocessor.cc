// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/data/preprocessor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "worker/engine/core/error.h"
#include "worker/engine/data/unit_range.h"

namespace epochd::engine {
namespace {

[[noreturn]] void FailShape(const std::string& field, const at::Tensor& value,
                            const std::string& accepted) {
  throw Error(ErrorKind::kBadSpec,
              "preprocessor: field \"" + field + "\" is of shape " +
                  c10::str(value.sizes()) + "; " + accepted + " is accepted");
}

int64_t RoundUp(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// Of the last two dimensions of images, of the last one of signals.
std::vector<int64_t> PaddingOf(const at::Tensor& value, int64_t multiple) {
  std::vector<int64_t> padding;  // from the last dimension on: before, after
  for (int64_t dim = value.dim() - 1;
       dim >= std::max<int64_t>(2, value.dim() - 2); --dim) {
    padding.push_back(0);
    padding.push_back(RoundUp(value.size(dim), multiple) - value.size(dim));
  }
  return padding;
}

}  // namespace

DevicePreprocessor::DevicePreprocessor(Options options)
    : options_(std::move(options)) {
  if (options_.mean.size() != options_.std.size()) {
    throw Error(ErrorKind::kBadSpec, "preprocessor: mean has " +
                                         std::to_string(options_.mean.size()) +
                                         " values, std " +
                                         std::to_string(options_.std.size()) +
                                         "; as many of each are accepted");
  }
  if (std::count(options_.std.begin(), options_.std.end(), 0.0) > 0) {
    throw Error(ErrorKind::kBadSpec,
                "preprocessor: a std is 0; values above 0 are accepted");
  }
  double sum = 0;
  for (double chance : options_.augment_chances) sum += chance;
  if (sum > 1 + 1e-9 ||
      (!options_.augment_chances.empty() &&
       options_.augment_chances.size() != options_.augments.size())) {
    throw Error(
        ErrorKind::kBadSpec,
        "preprocessor: " + std::to_string(options_.augment_chances.size()) +
            " chances that add up to " + std::to_string(sum) +
            "; one for each of the " +
            std::to_string(options_.augments.size()) +
            " batch augments, 1 together or less, is accepted");
  }
  if (!options_.mean.empty()) {
    mean_ = at::tensor(options_.mean, at::kFloat);
    std_ = at::tensor(options_.std, at::kFloat);
  }
}

at::Tensor DevicePreprocessor::Prepared(const std::string& field,
                                        at::Tensor value) const {
  if (value.dim() < 3) return value;
  if (AreOfUnitRange(options_.mean, options_.std)) {
    RefuseBytes("preprocessor", field, value);
  }
  if (options_.swap_channels) {
    if (value.size(1) != 3) {
      FailShape(field, value, "[B, 3, ...], to swap channels,");
    }
    value = value.flip(1);
  }
  if (!at::isFloatingType(value.scalar_type())) value = value.to(at::kFloat);
  if (!mean_.defined()) return value;
  const int64_t channels = mean_.size(0);
  if (channels != 1 && channels != value.size(1)) {
    FailShape(field, value,
              "[B, " + std::to_string(channels) + ", ...], by mean and std,");
  }
  if (mean_.device() != value.device()) {
    mean_ = mean_.to(value.device());
    std_ = std_.to(value.device());
  }
  std::vector<int64_t> shape(static_cast<size_t>(value.dim() - 1), 1);
  shape[0] = channels;
  return value.sub(mean_.view(shape)).div_(std_.view(shape));
}

void DevicePreprocessor::Pad(Batch& batch) const {
  const at::Tensor first = batch.At(options_.fields.front());
  for (const std::string& field : options_.fields) {
    const at::Tensor value = batch.At(field);
    if (value.dim() < 3) {
      FailShape(field, value, "[B, C, H, W] or [B, C, T], to be padded,");
    }
    const std::vector<int64_t> padding =
        PaddingOf(value, options_.pad_multiple);
    batch.Set(field, at::constant_pad_nd(value, padding, options_.pad_value));
    if (field != options_.fields.front()) continue;
    const at::Tensor* given = batch.Find(options_.mask);
    at::Tensor mask;
    if (given != nullptr && given->dim() > 1) {
      mask = *given;
    } else if (given == nullptr) {
      std::vector<int64_t> shape = value.sizes().vec();
      if (value.dim() == 3) {
        shape.erase(shape.begin() + 1);
      } else {
        shape[1] = 1;
      }
      mask = at::ones(shape, value.options().dtype(at::kBool));
    } else {
      // Of samples, not of what they consist of.
      continue;
    }
    batch.Set(options_.mask, at::constant_pad_nd(mask, padding, false));
  }
  PadAlike(batch, first);
}

void DevicePreprocessor::PadAlike(Batch& batch, const at::Tensor& first) const {
  const int64_t num_dims = std::min<int64_t>(first.dim() - 2, 2);
  for (const std::string& field : options_.pad_fields) {
    const at::Tensor value = batch.At(field);
    const auto scale = value.dim() > num_dims && first.numel() > 0
                           ? value.size(-1) / first.size(-1)
                           : 0;
    std::vector<int64_t> padding;
    bool fits = scale > 0;
    for (int64_t dim = -1; fits && dim >= -num_dims; --dim) {
      const int64_t size = first.size(dim);
      fits = value.size(dim) == scale * size;
      padding.push_back(0);
      padding.push_back(scale * (RoundUp(size, options_.pad_multiple) - size));
    }
    if (!fits) {
      FailShape(field, value,
                "the layout of the first field, " + c10::str(first.sizes()) +
                    ", or a multiple of it, to be padded alike,");
    }
    const at::ScalarType type = value.scalar_type();
    const at::Scalar filling = type == at::kBool ? at::Scalar(false)
                               : at::isFloatingType(type)
                                   ? at::Scalar(options_.pad_value)
                                   : at::Scalar(options_.pad_label);
    batch.Set(field, at::constant_pad_nd(value, padding, filling));
  }
}

void DevicePreprocessor::Augment(Batch& batch, const BatchKey& key) const {
  Random random({static_cast<uint64_t>(Stream::kBatch), key.seed,
                 static_cast<uint64_t>(key.epoch),
                 static_cast<uint64_t>(key.batch),
                 static_cast<uint64_t>(key.rank)});
  const size_t count = options_.augments.size();
  if (options_.augment_chances.empty()) {
    options_.augments[random.Below(count)]->Apply(batch, random);
    return;
  }
  double draw = random.Uniform();
  for (size_t i = 0; i < count; ++i) {
    draw -= options_.augment_chances[i];
    if (draw >= 0) continue;
    options_.augments[i]->Apply(batch, random);
    return;
  }
}

Batch DevicePreprocessor::Receive(const Batch& given, c10::Device device,
                                  const BatchKey& key) const {
  Batch batch = given.To(device, options_.non_blocking);
  for (const std::string& field : options_.fields) {
    batch.Set(field, Prepared(field, batch.At(field)));
  }
  if (options_.pad_multiple > 1) Pad(batch);
  if (key.is_training && !options_.augments.empty()) Augment(batch, key);
  if (options_.cast) {
    for (const std::string& field : options_.fields) {
      batch.Set(field, batch.At(field).to(*options_.cast));
    }
  }
  return batch;
}

}  // namespace epochd::engine
