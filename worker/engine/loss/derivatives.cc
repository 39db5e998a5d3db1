// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/derivatives.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <sstream>
#include <vector>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

void CheckRows(at::IntArrayRef y, const at::Tensor& x) {
  if (x.dim() >= 1 && y == x.sizes().slice(0, x.dim() - 1)) return;
  std::ostringstream message;
  message << "derivative: values of shape " << y << " at points of shape "
          << x.sizes() << "; one value for each point is accepted";
  throw Error(ErrorKind::kTraining, message.str());
}

}  // namespace

at::Tensor Gradient(const at::Tensor& y, const at::Tensor& x,
                    bool create_graph) {
  CheckRows(y.sizes(), x);
  if (!y.requires_grad()) return at::zeros_like(x);
  // Rows are independent, so the gradient of their sum has each row's own.
  torch::autograd::variable_list gradients = torch::autograd::grad(
      {y}, {x}, {at::ones_like(y)}, /*retain_graph=*/true, create_graph,
      /*allow_unused=*/true);
  return gradients[0].defined() ? gradients[0] : at::zeros_like(x);
}

at::Tensor Jacobian(const at::Tensor& y, const at::Tensor& x,
                    bool create_graph) {
  const c10::AutoGradMode with_graph(true);
  if (y.dim() < 1) CheckRows(y.sizes(), x);
  std::vector<at::Tensor> rows;
  for (int64_t j = 0; j < y.size(-1); ++j) {
    rows.push_back(Gradient(y.select(-1, j), x, create_graph));
  }
  return at::stack(rows, -2);
}

at::Tensor HessianDiagonal(const at::Tensor& y, const at::Tensor& x,
                           bool create_graph) {
  const c10::AutoGradMode with_graph(true);
  const at::Tensor first = Gradient(y, x);
  std::vector<at::Tensor> second;
  for (int64_t i = 0; i < x.size(-1); ++i) {
    second.push_back(
        Gradient(first.select(-1, i), x, create_graph).select(-1, i));
  }
  return at::stack(second, -1);
}

at::Tensor Laplacian(const at::Tensor& y, const at::Tensor& x,
                     bool create_graph) {
  const c10::AutoGradMode with_graph(true);
  return HessianDiagonal(y, x, create_graph).sum(-1);
}

at::Tensor Divergence(const at::Tensor& y, const at::Tensor& x,
                      bool create_graph) {
  const c10::AutoGradMode with_graph(true);
  if (y.sizes() != x.sizes()) CheckRows(y.sizes(), x);
  at::Tensor sum;
  for (int64_t i = 0; i < x.size(-1); ++i) {
    const at::Tensor part =
        Gradient(y.select(-1, i), x, create_graph).select(-1, i);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

}  // namespace epochd::engine
