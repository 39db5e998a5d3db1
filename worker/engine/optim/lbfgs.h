// SPDX-License-Identifier: Apache-2.0
//
// L-BFGS as torch.optim.LBFGS, by LibTorch's own implementation. A step
// evaluates the loss up to `max_eval` times, so it needs a closure. One group
// of parameters only. State: n_iter, func_evals, t, prev_loss, d, H_diag,
// prev_flat_grad, and the lists old_dirs.<i>, old_stps.<i> and ro.<i>; they
// belong to all parameters together.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/engine/optim/grouped.h"

namespace epochd::engine {

class Lbfgs : public Optimizer {
 public:
  struct Options {
    double lr = 1.0;
    int64_t max_iter = 20;
    // Nothing: 5/4 of max_iter.
    std::optional<int64_t> max_eval{};
    double tolerance_grad = 1e-7;
    double tolerance_change = 1e-9;
    int64_t history_size = 100;
    bool strong_wolfe = false;
  };

  // Throws Error(kBadSpec) for more than one group.
  Lbfgs(const ParameterGroups& groups, const Options& options);
  ~Lbfgs() override;

  void Step() override;
  at::Tensor Step(const Closure& closure) override;
  bool needs_closure() const override { return true; }
  void ZeroGrad() override;
  int64_t num_steps() const override { return num_steps_; }
  std::vector<Group>& groups() override { return groups_; }
  const std::vector<Group>& groups() const override { return groups_; }
  const std::vector<NamedTensor>& parameters() const override {
    return parameters_;
  }
  bool has_momentum() const override { return false; }
  std::vector<NamedTensor> State() const override;
  void LoadState(const std::vector<NamedTensor>& state) override;

 private:
  struct Impl;

  std::vector<Group> groups_;
  const std::vector<NamedTensor> parameters_;
  const std::unique_ptr<Impl> impl_;
  int64_t num_steps_ = 0;
};

}  // namespace epochd::engine
