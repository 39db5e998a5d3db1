// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/pde_residual.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "worker/engine/core/error.h"

namespace epochd::engine {
namespace {

// Half precision would drown second derivatives.
class NoAutocast {
 public:
  explicit NoAutocast(c10::DeviceType device)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)) {
    if (was_enabled_) at::autocast::set_autocast_enabled(device_, false);
  }
  ~NoAutocast() {
    if (was_enabled_) at::autocast::set_autocast_enabled(device_, true);
  }
  NoAutocast(const NoAutocast&) = delete;
  NoAutocast& operator=(const NoAutocast&) = delete;

 private:
  const c10::DeviceType device_;
  const bool was_enabled_;
};

}  // namespace

PdeResidual::PdeResidual(Options options)
    : options_(std::move(options)),
      expression_(ParseExpression(options_.expression, options_.constants)),
      plan_(expression_.variables(), options_.unknowns, options_.coordinates) {
  const CausalOptions& causal = options_.causal;
  if (causal.epsilon <= 0.0) return;
  const auto found = std::find(options_.coordinates.begin(),
                               options_.coordinates.end(), causal.coordinate);
  if (found == options_.coordinates.end() || !(causal.from < causal.to)) {
    throw Error(ErrorKind::kBadSpec,
                "causal: \"" + causal.coordinate + "\" from " +
                    std::to_string(causal.from) + " to " +
                    std::to_string(causal.to) +
                    "; a coordinate and its range, the smaller number first, "
                    "are accepted");
  }
  time_ = found - options_.coordinates.begin();
}

at::Tensor PdeResidual::Evaluate(const Batch& batch) const {
  const at::Tensor& points = batch.At(options_.points);
  const at::Tensor& values = batch.At(options_.output);
  const auto num_coordinates =
      static_cast<int64_t>(options_.coordinates.size());
  const auto num_unknowns = static_cast<int64_t>(options_.unknowns.size());
  if (points.dim() < 2 || points.size(-1) != num_coordinates ||
      values.dim() != points.dim() || values.size(-1) != num_unknowns) {
    std::ostringstream message;
    message << "loss " << options_.name << ": \"" << options_.points
            << "\" is of shape " << points.sizes() << " and \""
            << options_.output << "\" of shape " << values.sizes()
            << "; points [..., " << num_coordinates << "] and values [..., "
            << num_unknowns << "] are accepted";
    throw Error(ErrorKind::kTraining, message.str());
  }
  if (plan_.has_derivatives() && !points.requires_grad()) {
    throw Error(ErrorKind::kBadSpec,
                "loss " + options_.name + ": the model's values at \"" +
                    options_.points +
                    "\" cannot be differentiated by the points; the model's "
                    "`differentiable` must name \"" +
                    options_.points + "\"");
  }
  const std::vector<at::Tensor> variables =
      plan_.Evaluate(points, values.to(points.scalar_type()));
  return engine::Evaluate(expression_, variables, points.select(-1, 0))
      .unsqueeze(-1);
}

at::Tensor PdeResidual::CausalWeights(const at::Tensor& squares,
                                      const at::Tensor& points,
                                      const at::Tensor& weights) const {
  const CausalOptions& causal = options_.causal;
  // What does not count may have no time.
  const at::Tensor time =
      Blanked(points.detach().narrow(-1, time_, 1), weights);
  const at::Tensor place =
      ((time - causal.from) *
       (static_cast<double>(causal.slices) / (causal.to - causal.from)))
          .floor()
          .clamp(0, static_cast<double>(causal.slices - 1))
          .to(at::kLong)
          .flatten();
  const at::Tensor losses = squares.detach().flatten();
  at::Tensor sums = at::zeros({causal.slices}, losses.options());
  at::Tensor counts = at::zeros_like(sums);
  const at::Tensor own = weights.defined()
                             ? weights.expand(squares.sizes()).flatten()
                             : at::ones_like(losses);
  sums.scatter_add_(0, place, weights.defined() ? losses * own : losses);
  counts.scatter_add_(0, place, own);
  const at::Tensor means = SafeRatio(sums, counts);
  const at::Tensor before = means.cumsum(0) - means;
  return at::exp(before * -causal.epsilon)
      .index_select(0, place)
      .view(squares.sizes());
}

at::Tensor PdeResidual::Compute(const Batch& batch) const {
  const bool wants_graph = c10::GradMode::is_enabled();
  const at::Tensor& points = batch.At(options_.points);
  const c10::AutoGradMode with_graph(true);
  const NoAutocast exact(points.device().type());
  const at::Tensor residual = Evaluate(batch);
  const at::Tensor weights = WeightsOf(
      batch, options_.weighing, residual.sizes(), residual.scalar_type());
  at::Tensor squares = Blanked(residual, weights).square();
  if (time_ >= 0) squares = squares * CausalWeights(squares, points, weights);
  const at::Tensor loss = Reduce(squares, weights, Reduction::kMean);
  return wants_graph ? loss : loss.detach();
}

double PdeResidual::NumItems(const Batch& batch) const {
  if (options_.weighing.empty()) return Loss::NumItems(batch);
  const at::Tensor& points = batch.At(options_.points);
  std::vector<int64_t> shape = points.sizes().vec();
  if (!shape.empty()) shape.back() = 1;
  return TotalOf(
             WeightsOf(batch, options_.weighing, shape, points.scalar_type()),
             shape)
      .item<double>();
}

at::Tensor PdeResidual::Residual(const Batch& batch) const {
  const c10::AutoGradMode with_graph(true);
  const NoAutocast exact(batch.At(options_.points).device().type());
  const at::Tensor residual = Evaluate(batch);
  const at::Tensor weights = WeightsOf(
      batch, options_.weighing, residual.sizes(), residual.scalar_type());
  return Blanked(residual, weights).reshape({-1, 1});
}

}  // namespace epochd::engine
