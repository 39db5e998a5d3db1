// SPDX-License-Identifier: Apache-2.0
//
// FusedOptimizer: what SGD, Adam and AdamW share: which parameters have a
// gradient, state made at a parameter's first step, and its round trip. A
// subclass only calls its kernel.
//
// A kernel call takes many tensors at once; they must share device, type and
// number of steps done. Such a set is a Group. Groups are kept from step to
// step, so that a step costs one call per group plus a look at each gradient;
// they are made anew only when other parameters have gradients than before.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/core/optimizer.h"

namespace epochd::engine {

class FusedOptimizer : public Optimizer {
 public:
  void Step() final;
  void ZeroGrad() final;
  double lr() const final { return lr_; }
  void set_lr(double lr) final { lr_ = lr; }
  double initial_lr() const final { return initial_lr_; }
  // "step" is the number of calls of Step(). A parameter that had no gradient
  // in some of them has a further "step.<parameter>".
  std::vector<NamedTensor> State() const final;
  void LoadState(const std::vector<NamedTensor>& state) final;
  const std::vector<NamedTensor>& parameters() const final {
    return parameters_;
  }

 protected:
  struct Group {
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> gradients;
    // One list per name of state, in the order of `state_names`.
    std::vector<std::vector<at::Tensor>> states;
    // Steps done before this one, and after it as one float tensor on the
    // device, which is what kernels with bias correction read.
    int64_t steps_before = 0;
    at::Tensor step;
    std::vector<at::Tensor> steps;
    std::vector<size_t> indices;
  };

  // `state_names`: tensors kept per parameter, of its shape.
  FusedOptimizer(std::vector<NamedTensor> parameters, double lr,
                 std::vector<std::string> state_names);

  // Calls the kernel.
  virtual void Update(const Group& group) = 0;

 private:
  struct Slot {
    int64_t steps = 0;
    std::vector<at::Tensor> states;  // empty: no step yet
  };

  // Takes the gradients into the groups; false: the groups do not fit them.
  bool CollectGradients();
  void MakeGroups();

  const std::vector<NamedTensor> parameters_;
  const std::vector<std::string> state_names_;
  const double initial_lr_;
  double lr_;
  int64_t num_steps_ = 0;
  std::vector<Slot> slots_;  // one per parameter
  std::vector<Group> groups_;
  std::vector<size_t> idle_;  // parameters in no group
  bool grouped_ = false;
};

}  // namespace epochd::engine
