// SPDX-License-Identifier: Apache-2.0
//
// Metrics of the order of scores, of one class against the others:
//
//   auroc              area under the curve of true over false positive rates,
//                      ties by the trapezoid: as torchmetrics, scikit-learn
//   average precision  sum of (R_n - R_n-1) P_n over the distinct scores, from
//                      the highest: scikit-learn's, torchmetrics'
//                      AveragePrecision
//
// They need every score: ranks collect them (classes + 2, or 2 labels + 1
// numbers of each sample; with weights one, or one of each label, more). NaN
// for a class that is never true or, for auroc, always, and for one with a
// score that is NaN; averages leave such classes out, and are NaN when none is
// left.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "worker/engine/core/metric.h"
#include "worker/engine/metric/decisions.h"
#include "worker/engine/metric/labels.h"

namespace epochd::engine {

// Scores of one class, and whether it is true.
struct RankedScore {
  double score = 0;
  bool is_true = false;
  double weight = 1;
};
using Ranked = std::vector<RankedScore>;
double AreaUnderRoc(Ranked ranked);
double AveragePrecisionOf(Ranked ranked);

class RankingMetric : public Metric {
 public:
  struct Options {
    // Average precision in place of the area under the curve.
    bool precision = false;
    LabelOptions labels = {};
    std::string name = {};
    Average average = Average::kMacro;
    bool per_class = false;
    std::vector<std::string> classes = {};
  };

  explicit RankingMetric(Options options) : options_(std::move(options)) {}

  const std::string& name() const override { return options_.name; }
  void Reset() override { parts_.clear(); }
  std::string Doubt() const override { return watch_.Doubt(); }
  void Update(const Batch& batch) override;
  at::Tensor Sums() const override;
  at::Tensor Rows() const override;
  std::vector<std::pair<std::string, double>> Values(
      const Collected& all) const override;
  bool higher_is_better() const override { return true; }

 private:
  const Options options_;
  std::vector<at::Tensor> parts_;
  LogitWatch watch_;
};

}  // namespace epochd::engine
