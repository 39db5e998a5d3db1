// SPDX-License-Identifier: Apache-2.0
#include "worker/engine/loss/element_loss.h"

#include <ATen/ATen.h>

#include <sstream>

#include "worker/engine/core/error.h"

namespace epochd::engine {

at::Tensor ElementLoss::Compute(const Batch& batch) const {
  const auto [output, target] = SameShape(batch, common_.fields);
  const at::Tensor weights =
      WeightsOf(batch, common_.weighing, output.sizes(), output.scalar_type());
  if (!weights.defined() && common_.reduction == Reduction::kMean) {
    return Mean(output, target);
  }
  return Reduce(Elements(Blanked(output, weights), Blanked(target, weights)),
                weights, common_.reduction);
}

double ElementLoss::NumItems(const Batch& batch) const {
  if (common_.weighing.empty() || common_.reduction != Reduction::kMean) {
    return Loss::NumItems(batch);
  }
  const auto [output, target] = SameShape(batch, common_.fields);
  return TotalOf(WeightsOf(batch, common_.weighing, output.sizes(),
                           output.scalar_type()),
                 output.sizes())
      .item<double>();
}

at::Tensor ElementLoss::Difference(const Batch& batch) const {
  const auto [output, target] = SameShape(batch, common_.fields);
  const at::Tensor weights =
      WeightsOf(batch, common_.weighing, output.sizes(), output.scalar_type());
  const at::Tensor difference =
      Blanked(output, weights) - Blanked(target, weights);
  return difference.dim() == 0 ? difference.reshape({1}) : difference;
}

void ElementLoss::CheckShares(const at::Tensor& target) const {
  if (target.numel() == 0) return;
  if (!target.device().is_cpu() && has_looked_) return;
  has_looked_ = true;
  const auto [least, most] = target.detach().aminmax();
  if (!(least.item<double>() < 0) && !(most.item<double>() > 1)) return;
  std::ostringstream message;
  message << "batch field \"" << common_.fields.target << "\": numbers from "
          << least.item<double>() << " to " << most.item<double>()
          << " as yes-or-no labels; 0 to 1 is accepted, and anything where "
             "`mask` or `sample_weight` is 0";
  throw Error(ErrorKind::kTraining, message.str());
}

}  // namespace epochd::engine
