// SPDX-License-Identifier: Apache-2.0
//
// What two tensors of a batch must satisfy before they are compared; shared by
// losses and metrics. Pure functions, any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "worker/engine/core/batch.h"

namespace epochd::engine {

// Names of the two fields that a loss or metric compares.
struct ComparedFields {
  std::string output = "output";
  std::string target = "target";
};

// Gives the tensor itself, or in float when it is of half precision, so that
// sums neither overflow nor drown.
at::Tensor AtLeastFloat(const at::Tensor& tensor);

// Tells whether `longer` is `shorter` with one more dimension, of size 1,
// behind the samples: the same elements in the same order.
bool AddsOne(at::IntArrayRef longer, at::IntArrayRef shorter);

// The two tensors, of the same shape and floating type. Where one has a
// dimension of size 1 more, as [B, 1] beside [B], the other is seen so, too;
// LibTorch would broadcast them to [B, B] with no more than a warning. Other
// shapes that differ throw Error(kTraining) naming both fields.
struct ComparedTensors {
  at::Tensor output;
  at::Tensor target;
};
ComparedTensors SameShape(const Batch& batch, const ComparedFields& fields);

// Class scores [B, C, ...] and either class indices [B, ...] of type int64 or
// class probabilities [B, C, ...]. Throws Error(kTraining) naming both fields,
// with their shapes and types.
ComparedTensors ClassScores(const Batch& batch, const ComparedFields& fields);

}  // namespace epochd::engine
