// SPDX-License-Identifier: Apache-2.0
//
// ElementLoss: what losses share that compare each element of the output with
// that of the target, both of one shape: fields, weights (loss/weighing.h), and
// how elements become one number. One thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "worker/engine/core/loss.h"
#include "worker/engine/loss/fields.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {

class ElementLoss : public Loss {
 public:
  struct Common {
    ComparedFields fields = {};
    Weighing weighing = {};
    Reduction reduction = Reduction::kMean;
    std::string name = {};
  };

  at::Tensor Compute(const Batch& batch) const final;
  // With weights their sum over elements, where the loss is a mean.
  double NumItems(const Batch& batch) const final;
  const std::string& name() const final { return common_.name; }

 protected:
  explicit ElementLoss(const Common& common) : common_(common) {}

  // Loss of each element. Both tensors are float or double and of one shape;
  // what does not count is 0 in both.
  virtual at::Tensor Elements(const at::Tensor& output,
                              const at::Tensor& target) const = 0;
  // Their plain mean, where there is a kernel for it.
  virtual at::Tensor Mean(const at::Tensor& output,
                          const at::Tensor& target) const {
    return Elements(output, target).mean();
  }
  // output - target, at least of one dimension, 0 where nothing counts.
  at::Tensor Difference(const Batch& batch) const;
  // Throws Error(kTraining) naming the field when a target that counts is no
  // share of yes and no, in [0, 1]. NaN is what steps are left out for. On a
  // GPU the first batch alone, as it waits for the device.
  void CheckShares(const at::Tensor& target) const;

 private:
  mutable bool has_looked_ = false;
  const Common common_;
};

}  // namespace epochd::engine
