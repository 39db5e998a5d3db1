// SPDX-License-Identifier: Apache-2.0
//
// Loss: reads a batch (model output merged in), gives a differentiable scalar:
// the mean over the batch's samples. Epoch means are weighted by samples.
// Half-precision inputs are summed in float. Stateless; one thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "worker/engine/core/batch.h"

namespace epochd::engine {

class Loss {
 public:
  virtual ~Loss() = default;

  virtual at::Tensor Compute(const Batch& batch) const = 0;
  // How many items the mean is over: samples, unless a loss counts otherwise.
  virtual double NumItems(const Batch& batch) const {
    return static_cast<double>(batch.Size());
  }
  // What it is a mean of a function of, as [samples, ...] with its graph: the
  // differences of prediction and truth. For balancers that look at single
  // samples. Throws Error(kBadSpec) when the loss has none.
  virtual at::Tensor Residual(const Batch& batch) const;
  // Name in metrics: lower case, such as `cross_entropy`.
  virtual const std::string& name() const = 0;
  double weight() const { return weight_; }
  void set_weight(double weight) { weight_ = weight; }

 private:
  double weight_ = 1.0;
};

}  // namespace epochd::engine
