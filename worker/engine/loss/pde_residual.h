// SPDX-License-Identifier: Apache-2.0
//
// PdeResidual: the mean over points of the squared residual of a differential
// equation (Raissi, Perdikaris, Karniadakis 2019), written as an expression
// over coordinates, unknowns and their derivatives:
//
//   u_t + u*u_x - nu*u_xx
//
// It differentiates the model's values by its points, so the model must have
// computed them with a graph (PinnMLP's `differentiable`). The graph is kept
// for the weights where gradients are on. Derivatives are taken in the type of
// the points, out of autocast.
//
// Points may weigh differently: by a mask, by a field of the batch, and by
// causality (Wang, Sankaran, Perdikaris 2022), where a slice of time counts
// once the slices before it are solved: exp(-epsilon * their mean losses).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/engine/core/loss.h"
#include "worker/engine/expression/evaluate.h"
#include "worker/engine/loss/derivative_plan.h"
#include "worker/engine/loss/weighing.h"

namespace epochd::engine {

struct CausalOptions {
  // 0: off.
  double epsilon = 0.0;
  // Name of the coordinate that is time, and its range.
  std::string coordinate = "t";
  double from = 0.0;
  double to = 1.0;
  int64_t slices = 16;
};

class PdeResidual : public Loss {
 public:
  struct Options {
    std::string expression;
    Expression::Constants constants = {};
    // Field with points [..., coordinates] and the model's values there
    // [..., unknowns].
    std::string points = "interior";
    std::string output = "interior_output";
    std::vector<std::string> coordinates = {"t", "x"};
    std::vector<std::string> unknowns = {"u"};
    // Fields with one number for each point, [...] or [..., 1].
    Weighing weighing = {};
    CausalOptions causal = {};
    std::string name = "residual";
  };

  // Throws Error(kBadSpec) for an expression that cannot be.
  explicit PdeResidual(Options options);

  at::Tensor Compute(const Batch& batch) const override;
  // With weights their sum over points.
  double NumItems(const Batch& batch) const override;
  // [points, 1], 0 where nothing counts.
  at::Tensor Residual(const Batch& batch) const override;
  const std::string& name() const override { return options_.name; }

 private:
  // [..., 1], with its graph.
  at::Tensor Evaluate(const Batch& batch) const;
  // Of the points' `weights` (undefined: all alike), as the means are by them.
  at::Tensor CausalWeights(const at::Tensor& squares, const at::Tensor& points,
                           const at::Tensor& weights) const;

  const Options options_;
  const Expression expression_;
  const DerivativePlan plan_;
  int64_t time_ = -1;  // column
};

}  // namespace epochd::engine
