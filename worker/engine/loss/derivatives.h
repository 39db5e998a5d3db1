// SPDX-License-Identifier: Apache-2.0
//
// Derivatives of a model's values by its inputs, by automatic differentiation.
// Everywhere `x` [..., d] holds points, a row each, that require a gradient,
// and `y` [...] (one value a row) depends, in each row, on the same row of `x`
// alone, as models without batch statistics do. With `create_graph` what is
// returned can be differentiated again, by weights and by points; they also
// work where gradients are off (validation), as long as `y` was computed with
// its graph. A `y` that does not depend on `x` has derivatives of 0. Pure
// functions, any thread.
//
//   const at::Tensor u = ...;                       // [n]
//   const at::Tensor first = Gradient(u, points);   // [n, d]: u_t, u_x, ...
//   const at::Tensor second = Gradient(first.select(-1, 1), points);
//   const at::Tensor u_xx = second.select(-1, 1);
#pragma once

#include <ATen/core/Tensor.h>

namespace epochd::engine {

// dy/dx_i, [..., d].
at::Tensor Gradient(const at::Tensor& y, const at::Tensor& x,
                    bool create_graph = true);

// Of values y [..., m]: dy_j/dx_i as [..., m, d].
at::Tensor Jacobian(const at::Tensor& y, const at::Tensor& x,
                    bool create_graph = true);

// d2y/dx_i2, [..., d].
at::Tensor HessianDiagonal(const at::Tensor& y, const at::Tensor& x,
                           bool create_graph = true);

// The sum of d2y/dx_i2, [...].
at::Tensor Laplacian(const at::Tensor& y, const at::Tensor& x,
                     bool create_graph = true);

// Of a field y [..., d]: the sum of dy_i/dx_i, [...].
at::Tensor Divergence(const at::Tensor& y, const at::Tensor& x,
                      bool create_graph = true);

}  // namespace epochd::engine
