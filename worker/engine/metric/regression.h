// SPDX-License-Identifier: Apache-2.0
//
// Metrics of the difference d of prediction and truth t, over all elements that
// count, however they were batched:
//
//   MAE         mean |d|
//   MSE         mean d^2
//   RMSE        sqrt(mean d^2)
//   RelativeL2  sqrt(sum d^2 / sum t^2); by sample, the mean over samples of it
//
// RelativeL2 of a truth that is all 0 is NaN; by sample, such samples are left
// out, and sample weights, [B], are of samples. Sums are taken in double.
#pragma once

#include <string>
#include <utility>

#include "worker/engine/loss/fields.h"
#include "worker/engine/loss/weighing.h"
#include "worker/engine/metric/mean_metric.h"

namespace epochd::engine {

class ErrorMetric : public MeanMetric {
 public:
  enum class Kind { kMae, kMse, kRmse, kRelativeL2 };
  struct Options {
    Kind kind = Kind::kMae;
    ComparedFields fields = {};
    Weighing weighing = {};
    std::string name = {};
    bool per_sample = false;  // RelativeL2
  };

  explicit ErrorMetric(Options options)
      : MeanMetric(options.name), options_(std::move(options)) {}

  void Update(const Batch& batch) override;
  bool higher_is_better() const override { return false; }

 private:
  double Finish(double mean) const override;

  const Options options_;
};

}  // namespace epochd::engine
