// SPDX-License-Identifier: Apache-2.0
//
// Optimizer: updates parameters from their gradients with ATen's fused
// kernels. Parameters are given once; state tensors are created at the first
// step. One thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/core/model.h"

namespace epochd::engine {

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Updates every parameter that has a gradient.
  virtual void Step() = 0;
  // Clears gradients (to undefined, as set_to_none).
  virtual void ZeroGrad() = 0;
  virtual double lr() const = 0;
  virtual void set_lr(double lr) = 0;
  // Learning rate the optimizer was built with; schedulers start from it.
  virtual double initial_lr() const = 0;
  // Steps done, and state tensors named "<state>.<parameter>", such as
  // "exp_avg.layers.0.weight"; "step" is a [1] double tensor.
  virtual std::vector<NamedTensor> State() const = 0;
  // Restores what State() gave. Throws Error naming what is missing or of
  // another shape; the optimizer is then unchanged.
  virtual void LoadState(const std::vector<NamedTensor>& state) = 0;
  virtual const std::vector<NamedTensor>& parameters() const = 0;
};

}  // namespace epochd::engine
