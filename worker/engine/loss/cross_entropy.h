// SPDX-License-Identifier: Apache-2.0
//
// Cross entropy of class scores (logits), as torch.nn.CrossEntropyLoss with
// reduction "mean".
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/loss/fields.h"

namespace epochd::engine {

class CrossEntropyLoss : public Loss {
 public:
  struct Options {
    ComparedFields fields = {};
    std::string name = "cross_entropy";
    double weight = 1.0;
    // In [0, 1]: share of the target spread evenly over all classes.
    double label_smoothing = 0.0;
    // One weight per class; empty: all 1. The mean divides by the weights of
    // the targets, as torch's does.
    std::vector<double> class_weights;
    // Samples of this class do not count.
    int64_t ignore_index = -100;
  };

  explicit CrossEntropyLoss(Options options);

  at::Tensor Compute(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  Options options_;
  // On the device of the last batch; undefined: no class weights.
  mutable at::Tensor class_weights_;
};

}  // namespace epochd::engine
