// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/weighing.h"

#include <ATen/ATen.h>

#include <sstream>
#include <stdexcept>
#include <vector>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

[[noreturn]] void FailWeights(const std::string& field, at::IntArrayRef sizes,
                              at::IntArrayRef shape, const char* problem) {
  std::ostringstream message;
  message << "batch field \"" << field << "\": shape " << sizes << " "
          << problem << " elements of shape " << shape
          << "; the same shape, with 1 for sizes that it is stretched over, is "
             "accepted";
  throw Error(ErrorKind::kTraining, message.str());
}

bool Stretches(at::IntArrayRef sizes, at::IntArrayRef shape) {
  if (sizes.size() != shape.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != shape[i] && sizes[i] != 1) return false;
  }
  return true;
}

// Weights for elements that are larger by a whole factor in all dimensions from
// `first` on: each stands for as many as it covers. Undefined: they are not.
at::Tensor Enlarged(at::Tensor weights, at::IntArrayRef shape, int64_t first) {
  if (weights.dim() != static_cast<int64_t>(shape.size()) ||
      weights.dim() <= first ||
      !Stretches(weights.sizes().slice(0, first), shape.slice(0, first)) ||
      weights.size(first) == 0) {
    return {};
  }
  const int64_t factor = shape[first] / weights.size(first);
  for (int64_t dim = first; dim < weights.dim(); ++dim) {
    if (factor < 2 || weights.size(dim) * factor != shape[dim]) return {};
    weights = weights.repeat_interleave(factor, dim);
  }
  return weights;
}

at::Tensor Fitted(const Batch& batch, const std::string& field,
                  at::IntArrayRef shape, at::ScalarType type) {
  const at::Tensor& given = batch.At(field);
  const at::Tensor weights = given.detach().to(type);
  const at::IntArrayRef sizes = weights.sizes();
  if (Stretches(sizes, shape)) return weights;
  if (sizes.size() == shape.size() + 1 && sizes.size() >= 2 && sizes[1] == 1) {
    const at::Tensor narrow = weights.squeeze(1);
    if (Stretches(narrow.sizes(), shape)) return narrow;
    const at::Tensor enlarged = Enlarged(narrow, shape, 1);
    if (enlarged.defined()) return enlarged;
  }
  if (sizes.size() >= 3 && sizes[1] == 1) {
    const at::Tensor enlarged = Enlarged(weights, shape, 2);
    if (enlarged.defined()) return enlarged;
  }
  if (sizes.size() >= shape.size() || sizes.empty()) {
    FailWeights(field, sizes, shape, "does not go with");
  }
  const bool leads = Stretches(sizes, shape.slice(0, sizes.size()));
  bool lacks_channels = false;
  if (shape.size() >= 3 && sizes.size() + 1 == shape.size()) {
    std::vector<int64_t> rest{shape[0]};
    rest.insert(rest.end(), shape.begin() + 2, shape.end());
    lacks_channels = Stretches(sizes, rest);
  }
  if (leads && lacks_channels) {
    FailWeights(field, sizes, shape, "goes in two ways with");
  }
  if (lacks_channels) return weights.unsqueeze(1);
  if (!leads) FailWeights(field, sizes, shape, "does not go with");
  std::vector<int64_t> full = sizes.vec();
  full.resize(shape.size(), 1);
  return weights.reshape(full);
}

}  // namespace

Reduction ReductionOf(const std::string& name) {
  if (name == "mean") return Reduction::kMean;
  if (name == "sum") return Reduction::kSum;
  if (name == "batchmean") return Reduction::kBatchMean;
  throw std::logic_error("reduction: " + name);
}

at::Tensor WeightsOf(const Batch& batch, const Weighing& weighing,
                     at::IntArrayRef shape, at::ScalarType type) {
  at::Tensor weights;
  for (const std::string* field : {&weighing.mask, &weighing.sample_weight}) {
    if (field->empty()) continue;
    const at::Tensor own = Fitted(batch, *field, shape, type);
    weights = weights.defined() ? weights * own : own;
  }
  return weights;
}

at::Tensor SampleWeights(const Batch& batch, const Weighing& weighing,
                         at::IntArrayRef shape) {
  if (weighing.sample_weight.empty()) return {};
  const int64_t samples = shape.empty() ? 1 : shape[0];
  const at::Tensor own = WeightsOf(
      batch, {.sample_weight = weighing.sample_weight}, {samples}, at::kDouble);
  return own.expand({samples});
}

at::Tensor Blanked(const at::Tensor& values, const at::Tensor& weights) {
  if (!weights.defined()) return values;
  return values.masked_fill(weights.eq(0), 0);
}

at::Tensor TotalOf(const at::Tensor& weights, at::IntArrayRef shape) {
  return weights.expand(shape).sum();
}

at::Tensor SafeRatio(const at::Tensor& sum, const at::Tensor& total) {
  return sum / total.masked_fill(total.eq(0), 1);
}

at::Tensor Reduce(const at::Tensor& elements, const at::Tensor& weights,
                  Reduction reduction) {
  if (!weights.defined() && reduction == Reduction::kMean) {
    return elements.mean();
  }
  const at::Tensor sum =
      (weights.defined() ? elements * weights : elements).sum();
  switch (reduction) {
    case Reduction::kMean:
      return SafeRatio(sum, TotalOf(weights, elements.sizes()));
    case Reduction::kBatchMean:
      return elements.dim() == 0 ? sum
                                 : sum / static_cast<double>(std::max<int64_t>(
                                             elements.size(0), 1));
    case Reduction::kSum:
      break;
  }
  return sum;
}

}  // namespace epochd::engine
