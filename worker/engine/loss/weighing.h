// SPDX-License-Identifier: Apache-2.0
//
// What counts in a loss or metric, and how much: two fields of the batch that
// weigh elements. A mask is 1 (or true) where an element counts and 0 where it
// does not; values between weigh. With w the product of both, stretched over
// the elements e,
//
//   mean       sum(e w) / sum(w); 0 when nothing counts
//   sum        sum(e w)
//   batchmean  sum(e w) / samples
//
// An element of weight 0 has no effect, whatever stands there (also NaN).
// Pure functions, any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "worker/engine/core/batch.h"

namespace epochd::engine {

// Names of fields; empty: none.
struct Weighing {
  std::string mask = {};
  std::string sample_weight = {};

  bool empty() const { return mask.empty() && sample_weight.empty(); }
};

enum class Reduction { kMean, kSum, kBatchMean };

// "mean", "sum" or "batchmean".
Reduction ReductionOf(const std::string& name);

// The weights of elements of such a shape: of the same rank, each size equal or
// 1, in float or double as `type`. Undefined: all count alike. For elements
// [B, C, H, W] a field may be [B, C, H, W] or have ones in place of some sizes,
// [B], [B, C], or [B, H, W] without the channels; with elements [B, ...] it
// may be [B, 1, ...]. [B, 1, H, W] and [B, 1, L] may also be smaller than the
// elements by a whole factor. Throws Error(kTraining) naming the field when it
// does not fit, or fits in two ways.
at::Tensor WeightsOf(const Batch& batch, const Weighing& weighing,
                     at::IntArrayRef shape, at::ScalarType type);

// The sample weights alone, [B] of elements of such a shape, in double, for
// what weighs samples and not their elements. Undefined: all count alike.
at::Tensor SampleWeights(const Batch& batch, const Weighing& weighing,
                         at::IntArrayRef shape);

// `values` with zeros where the weight is 0, so that neither values nor
// gradients of what does not count can be anything else.
at::Tensor Blanked(const at::Tensor& values, const at::Tensor& weights);

// Sum of weights over elements of that shape.
at::Tensor TotalOf(const at::Tensor& weights, at::IntArrayRef shape);

// `weights` may be undefined.
at::Tensor Reduce(const at::Tensor& elements, const at::Tensor& weights,
                  Reduction reduction);

// sum / total, and 0 with a gradient of 0 where the total is 0 (so is the sum).
at::Tensor SafeRatio(const at::Tensor& sum, const at::Tensor& total);

}  // namespace epochd::engine
