// SPDX-License-Identifier: Apache-2.0
//
// Losses that compare each element of the output with that of the target and
// take the mean over all: mean squared error, mean absolute error, and binary
// cross entropy of logits, as torch.nn's with reduction "mean".
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/loss/fields.h"

namespace epochd::engine {

class MseLoss : public Loss {
 public:
  struct Options {
    ComparedFields fields = {};
    std::string name = "mse";
    double weight = 1.0;
  };

  explicit MseLoss(Options options);

  at::Tensor Compute(const Batch& batch) const override;
  at::Tensor Residual(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  Options options_;
};

class L1Loss : public Loss {
 public:
  struct Options {
    ComparedFields fields = {};
    std::string name = "l1";
    double weight = 1.0;
  };

  explicit L1Loss(Options options);

  at::Tensor Compute(const Batch& batch) const override;
  at::Tensor Residual(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  Options options_;
};

class BceWithLogitsLoss : public Loss {
 public:
  struct Options {
    ComparedFields fields = {};
    std::string name = "bce_with_logits";
    double weight = 1.0;
    // Weight of positive targets, one or one per class; empty: 1.
    std::vector<double> pos_weight;
  };

  explicit BceWithLogitsLoss(Options options);

  at::Tensor Compute(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  Options options_;
  // On the device of the last batch; undefined: none.
  mutable at::Tensor pos_weight_;
};

}  // namespace epochd::engine
